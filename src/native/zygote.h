// native/zygote.h: the process that forks the sandboxes of one environment, and the socket to it.
#pragma once

#include "async/event.h"
#include "async/task.h"
#include "backend/errors.h"
#include "native/cgroup_tree.h"
#include "native/launch_plan.h"
#include "os/unique_fd.h"
#include "wire/spawn_request.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hearth::native {

// With the last output of the zygote. Another one may succeed.
struct ZygoteEnded : backend::SpawnError {
  explicit ZygoteEnded(const std::string& last_words) : backend::SpawnError(last_words) {}
};

// Compiled seccomp filters.
struct ZygoteFilters {
  int own;      // for the zygote, installed before its first line of Python
  int sandbox;  // for its sandboxes
};

class Zygote {
 public:
  // Starts the launcher. `cgroup`: where the zygote lives, with limits for loading; may be missing.
  Zygote(const asio::any_io_executor& executor, const backend::Programs& programs,
         const LaunchPlan& plan, const ZygoteFilters& filters, CgroupTree::Lease cgroup);
  // Kills the zygote and all its sandboxes.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Returns when Python and everything it preloads is loaded. Throws SpawnError with what the
  // launcher or the harness said, and with the limit if loading has reached one.
  Task<> ready();
  // The tool or module that is being loaded, as in "tool a.py".
  const std::string& loading() const { return loading_; }
  // The limits from now on, when it is loaded and makes sandboxes.
  void set_limits(const CgroupLimits& limits);

  // Returns a pidfd of the sandbox's first process, or of a worker that enters it. `fds`: as the
  // request wants them; they must stay open until this returns. Several forks run in parallel, one
  // on each CPU. Throws SpawnError. The zygote is killed if it may have forked a process that would
  // have no owner, and if it does not answer within `limit`. Must not be cancelled: see shielded().
  Task<os::UniqueFd> fork(wire::SpawnRequest request, const std::vector<int>& fds,
                          std::chrono::milliseconds limit);

  bool alive() const;
  // Kills it now, whatever else still refers to this object.
  void end();

  // Network namespaces of former sandboxes. Only sandboxes of the same zygote may reuse them.
  void keep_network(os::UniqueFd network);
  os::UniqueFd take_network();  // empty: none is spare

  // Reads what launcher and zygote print, from their start to their end; otherwise they would block
  // on a full pipe. The task may outlive the object.
  Task<> drain_output() const { return drain(output_); }

 private:
  struct Reply {
    std::string text;  // empty: the zygote has exited
    os::UniqueFd fd;
  };
  struct Output {
    asio::posix::stream_descriptor pipe;
    std::string last_words;

    // False at the end, and when there is nothing to read now.
    bool read();
  };
  // A zygote answers one request after the other. So there are several: the first, and twins that
  // it forks when requests have to wait.
  struct Twin {
    explicit Twin(asio::posix::stream_descriptor socket) : control(std::move(socket)) {}
    asio::posix::stream_descriptor control;
    bool is_busy = false;
  };
  static Task<> drain(std::shared_ptr<Output> output);
  std::shared_ptr<Twin> idle_twin() const;
  void let_next_in();
  Task<> add_twin(Twin& of, wire::SpawnRequest request);
  // `buffer`: must hold the whole message.
  static Task<Reply> receive(Twin& twin, std::span<char> buffer);
  struct Forked {
    os::UniqueFd pidfd;
    int error = 0;  // of the fork, if there is no pidfd
  };
  // Nothing if the twin exited before it got the request. A request for a twin is answered without
  // a pidfd.
  Task<std::optional<Forked>> ask(Twin& twin, wire::SpawnRequest request,
                                  const std::vector<int>& fds);
  Task<Forked> answer_to(const wire::SpawnRequest& request, Twin& twin);
  [[noreturn]] void fail_as_ended();
  Task<> await_loaded();
  // In words; empty if loading has reached none.
  std::string limit_reached() const;

  asio::any_io_executor executor_;
  CgroupTree::Lease cgroup_;
  std::uint64_t refused_forks_before_ = 0;
  std::string loading_ = "Python";
  std::vector<std::shared_ptr<Twin>> twins_;  // the first is the zygote itself
  std::size_t most_twins_;
  std::size_t twins_coming_ = 0;
  AsyncEvent twin_is_idle_;  // wakes one of those that wait
  std::size_t waiting_ = 0;
  std::shared_ptr<Output> output_;
  pid_t launcher_ = 0;
  bool ended_ = false;  // its socket is closed; the launcher may exit a moment later
  std::uint64_t requests_ = 0;
  std::vector<os::UniqueFd> networks_;
};

}  // namespace hearth::native
