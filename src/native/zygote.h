// native/zygote.h: the process that forks the sandboxes of one environment, and the socket to it.
#pragma once

#include "async/mutex.h"
#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "native/launch_plan.h"
#include "os/unique_fd.h"
#include "wire/spawn_request.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::native {

// With the last of what it said. Another one may do better.
struct ZygoteEnded : SpawnError {
  explicit ZygoteEnded(const std::string& last_words) : SpawnError(last_words, {}) {}
};

class Zygote {
 public:
  // Starts the launcher.
  Zygote(const asio::any_io_executor& executor, const backend::Programs& programs,
         const LaunchPlan& plan, int seccomp_filter);
  // Kills it, and with it all its sandboxes.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Returns when Python and everything it preloads is there. Throws SpawnError with what the
  // launcher or the harness said.
  Task<> ready();

  // A pidfd of the sandbox's first process, or of one that brings a worker into it. `fds`: as the
  // request wants them. They must stay open until this returns. Throws SpawnError. If it then is
  // not certain that nothing was forked, the zygote is ended: that would have no owner. So it is if
  // it has not answered within `limit`.
  Task<os::UniqueFd> fork(wire::SpawnRequest request, const std::vector<int>& fds,
                          std::chrono::milliseconds limit);

  bool alive() const;
  // Kills it now, whoever still holds this.
  void end();

  // Network namespaces that sandboxes of this zygote had; only it may give them to others.
  void keep_network(os::UniqueFd network);
  os::UniqueFd take_network();  // none: a new one has to be made

  // Reads what launcher and zygote print, from their start to their end: somebody must, or they
  // would wait for it. May outlive the object.
  Task<> drain_output() const { return drain(output_); }

 private:
  struct Reply {
    std::string text;  // empty: it is gone
    os::UniqueFd fd;
  };
  struct Output {
    asio::posix::stream_descriptor pipe;
    std::string last_words;

    // False at the end, and when there is nothing to be read now.
    bool read();
  };
  static Task<> drain(std::shared_ptr<Output> output);
  Task<Reply> receive();
  struct Forked {
    os::UniqueFd pidfd;
    int error = 0;  // of the fork, if there is no pidfd
  };
  Task<Forked> answer_to(std::uint64_t request);
  [[noreturn]] void fail_as_ended();

  asio::posix::stream_descriptor control_;
  std::shared_ptr<Output> output_;
  pid_t launcher_ = 0;
  bool ended_ = false;  // the socket says so; the launcher may need a moment longer
  Mutex one_request_;
  std::uint64_t requests_ = 0;
  std::vector<os::UniqueFd> networks_;
};

}  // namespace hearth::native
