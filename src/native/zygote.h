// native/zygote.h: the process that forks the sandboxes of one environment, and the socket to it.
#pragma once

#include "async/mutex.h"
#include "async/task.h"
#include "native/launch_plan.h"
#include "os/unique_fd.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::native {

class Zygote {
 public:
  // Starts the launcher; returns when Python and everything it preloads is there. Throws SpawnError
  // with what the launcher or the harness said.
  static Task<std::unique_ptr<Zygote>> start(const Programs& programs, const LaunchPlan& plan,
                                             int seccomp_filter);
  // Kills it, and with it all its sandboxes.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  struct SandboxRequest {
    uid_t uid = 0;
    gid_t gid = 0;
    std::uint64_t workspace_bytes = 0;
    std::uint64_t workspace_inodes = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t scratch_inodes = 0;
    bool use_landlock = true;
  };
  // A pidfd of the sandbox's first process. `fds`: its stream, then what it joins its cgroups with.
  // They must stay open until this returns. Throws SpawnError.
  Task<os::UniqueFd> fork_sandbox(SandboxRequest request, std::vector<int> fds);

  bool alive() const;
  // Reads what launcher and zygote print, to the end. Somebody must, or they would wait for it.
  Task<> drain_errors();

 private:
  struct Reply {
    std::string text;  // empty: it is gone
    os::UniqueFd fd;
  };
  Zygote(const asio::any_io_executor& executor, pid_t launcher, os::UniqueFd control,
         os::UniqueFd errors);
  Task<> await_ready();
  Task<Reply> receive();
  [[noreturn]] void fail_as_gone();
  bool read_errors();

  pid_t launcher_;
  asio::posix::stream_descriptor control_;
  asio::posix::stream_descriptor errors_;
  std::string words_;  // the last of what they printed, for when they fail
  Mutex one_request_;
  std::uint64_t requests_ = 0;
};

}  // namespace hearth::native
