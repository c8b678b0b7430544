// init/worker_slots.h: the sandbox's workers, by their use.
//
//   prepared ──take()──▶ plan         runs one script, then exits
//               └──────▶ interactive  runs step after step, and keeps their variables
//
// At most one of each. Knows how they end, and which processes a sweep spares; knows no turn.
#pragma once

#include "init/worker.h"
#include "wire/messages.h"

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::init {

class WorkerSlots {
 public:
  void add_prepared(Worker worker) { prepared_ = std::move(worker); }
  bool has_prepared() const { return prepared_.has_value(); }
  bool has_interactive() const { return interactive_.has_value(); }
  bool has_one_for(wire::Mode mode) const { return slot(mode).has_value(); }
  // These three only if there is one.
  Worker& of(wire::Mode mode) { return *slot(mode); }
  const Worker& of(wire::Mode mode) const { return *slot(mode); }
  Worker& take(wire::Mode mode);  // the prepared one, for its first script

  // After its turn: its processes are gone, and its memory is freed now.
  void remove(wire::Mode mode);
  void kill_interactive(std::string_view why);
  // Before a reset. The processes are left to the sweep.
  void forget_all();
  // A pid must be forgotten as soon as it is reaped: from then on it may name another process.
  // False if none of the workers had it.
  bool handle_exit(pid_t pid);

  // Why the interactive worker is gone although no step ended it. Once; empty if it is not.
  std::string_view take_loss() { return std::exchange(loss_, {}); }

  // Processes of an earlier step may be alive, and could SIGSTOP a worker that waits for its turn.
  bool leftovers_possible() const { return leftovers_possible_ || commands_run_; }
  void expect_leftovers() { leftovers_possible_ = true; }
  bool commands_run() const { return commands_run_; }
  void set_commands_run(bool run) { commands_run_ = run; }  // they may do the same
  void resume_stopped() const;                              // whatever a leftover may have stopped

  // All workers, with their memory holders.
  std::vector<pid_t> pids() const;
  // The one that has run nothing.
  std::vector<pid_t> prepared_pids() const;
  // Which processes the sweep after a turn must not kill, besides the maker of workers: those that
  // are not the turn's. With `worker_exited` also its memory holder, unless that has run.
  std::vector<pid_t> spared_after_turn(wire::Mode mode, bool worker_exited) const;

 private:
  std::optional<Worker>& slot(wire::Mode mode) {
    return mode == wire::Mode::interactive ? interactive_ : plan_;
  }
  const std::optional<Worker>& slot(wire::Mode mode) const {
    return mode == wire::Mode::interactive ? interactive_ : plan_;
  }

  std::optional<Worker> prepared_;
  std::optional<Worker> interactive_;
  std::optional<Worker> plan_;
  std::string_view loss_;
  bool leftovers_possible_ = false;
  bool commands_run_ = false;
};

}  // namespace hearth::init
