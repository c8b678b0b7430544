// init/preparation.h: makes the next worker: asks the maker for it and waits until it is prepared.
//
//              start()              "prepared"
//   (nothing) ─────────▶ under way ────────────▶ the worker is handed to the caller
//                         ▲      │
//                         └──────┘ it exited or could not be forked: again, at most
//                                  max_prepare_attempts times in a row; without end and later
//                                  while commands run, which may hold all processes
#pragma once

#include "init/inherited_limits.h"
#include "init/limits.h"
#include "init/options.h"
#include "init/worker.h"
#include "init/worker_maker.h"
#include "wire/messages.h"

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace hearth::init {

// All functions that may ask the maker throw SandboxFailed if no further worker can be made.
class Preparation {
 public:
  // Starts the harness, or adopts the first worker, which the host has made.
  explicit Preparation(const Options& options);

  int maker_fd() const { return maker_.control_fd(); }
  pid_t maker_pid() const { return maker_.pid(); }
  bool can_make() const { return maker_.alive(); }

  void start();
  bool under_way() const { return worker_.has_value(); }
  int emit_fd() const { return worker_ ? worker_->emit_fd() : -1; }
  bool has_succeeded() const { return has_succeeded_; }  // at least once

  // When the maker's socket is readable. True if the maker has become ready.
  bool handle_maker();
  // When the new worker's emit pipe is readable. Returns the worker once it is prepared.
  std::optional<Worker> handle_worker();
  // False if the process that exited is neither the maker nor the new worker.
  bool handle_exit(pid_t pid);
  // What the maker said about itself. Once, after the first worker.
  std::optional<wire::Ready> take_ready() { return std::exchange(ready_, std::nullopt); }

  void set_commands_run(bool run) { commands_run_ = run; }
  // Not before this time, even for a turn.
  Clock::time_point retry_at() const { return retry_at_; }

  // Most sandboxes are thrown away right after a turn. The next worker is not made before this time
  // unless a turn needs it.
  void postpone_to(Clock::time_point time) { due_at_ = time; }
  Clock::time_point due_at() const { return due_at_; }

 private:
  void handle_maker_exit();
  void check_limits() const;
  void try_again();

  WorkerMaker maker_;
  std::optional<InheritedLimits> harness_limits_;  // before the first script
  InheritedLimits own_limits_{::getpid()};  // processes of the same user could change these, too
  std::optional<Worker> worker_;
  std::optional<wire::Ready> ready_;
  bool has_succeeded_ = false;
  int attempts_ = 0;     // since the last success
  std::string failure_;  // why the last attempt failed
  Clock::time_point due_at_{};
  Clock::time_point retry_at_{};
  bool commands_run_ = false;
};

}  // namespace hearth::init
