// native/zygote.h: the process that forks the sandboxes of one environment, and the socket to it.
#pragma once

#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "native/cgroup.h"
#include "native/launch_plan.h"
#include "os/unique_fd.h"
#include "wire/spawn_request.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::native {

// With the last of what it said. Another one may do better.
struct ZygoteEnded : SpawnError {
  explicit ZygoteEnded(const std::string& last_words) : SpawnError(last_words, {}) {}
};

// Compiled filters of system calls.
struct ZygoteFilters {
  int own;      // for the zygote, from before its first line of Python on
  int sandbox;  // for its sandboxes
};

class Zygote {
 public:
  // Starts the launcher. `cgroup`: where the zygote lives, with limits for loading; may be missing.
  Zygote(const asio::any_io_executor& executor, const backend::Programs& programs,
         const LaunchPlan& plan, const ZygoteFilters& filters, CgroupTree::Lease cgroup);
  // Kills it, and with it all its sandboxes.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Returns when Python and everything it preloads is there. Throws SpawnError with what the
  // launcher or the harness said, and with the limit if loading has reached one.
  Task<> ready();
  // The tool or module that is being loaded, as in "tool a.py".
  const std::string& loading() const { return loading_; }
  // From now on it makes sandboxes, under these limits.
  void set_limits(const CgroupLimits& limits);

  // A pidfd of the sandbox's first process, or of one that brings a worker into it. `fds`: as the
  // request wants them. Several at once are forked side by side, as far as the processors go. They
  // must stay open until this returns. Throws SpawnError. If it then is not certain that nothing
  // was forked, the zygote is ended: that would have no owner. So it is if it has not answered
  // within `limit`.
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
  // It answers one request after the other, so there are as many of it as have work: the first,
  // and twins that it forks.
  struct Twin {
    explicit Twin(asio::posix::stream_descriptor socket) : control(std::move(socket)) {}
    asio::posix::stream_descriptor control;
    bool is_busy = false;
  };
  class Use;
  static Task<> drain(std::shared_ptr<Output> output);
  std::shared_ptr<Twin> idle_twin() const;
  void let_next_in();
  Task<> add_twin(Twin& of);
  static Task<Reply> receive(Twin& twin);
  struct Forked {
    os::UniqueFd pidfd;
    int error = 0;  // of the fork, if there is no pidfd
  };
  // Nothing if the twin is gone and never got it. Another twin comes without a pidfd.
  Task<std::optional<Forked>> ask(Twin& twin, wire::SpawnRequest request,
                                  const std::vector<int>& fds);
  Task<Forked> answer_to(const wire::SpawnRequest& request, Twin& twin);
  [[noreturn]] void fail_as_ended();
  Task<> await_loaded();
  // In words; nothing if loading has reached none.
  std::string limit_reached() const;

  asio::any_io_executor executor_;
  CgroupTree::Lease cgroup_;
  std::uint64_t refused_forks_before_ = 0;
  std::string loading_ = "Python";
  std::vector<std::shared_ptr<Twin>> twins_;  // the first is never missing
  std::size_t most_twins_;
  std::size_t twins_coming_ = 0;
  asio::steady_timer twin_is_idle_;  // never expires; cancelled for the next who waits for one
  std::size_t waiting_ = 0;
  std::shared_ptr<Output> output_;
  pid_t launcher_ = 0;
  bool ended_ = false;  // the socket says so; the launcher may need a moment longer
  std::uint64_t requests_ = 0;
  std::vector<os::UniqueFd> networks_;
};

}  // namespace hearth::native
