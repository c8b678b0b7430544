// init/turn_runner.h: the turn in progress. Gives a request to a worker, passes on what the worker
// writes, and ends what has to end. `Turn` holds the facts, this class acts on them.
//
//                accept()           start()                       worker exited
//   no turn ──────────────▶ waits ──────────▶ runs ────────────────────────────▶ is swept
//     ▲                     │  ▲               │ │ └─ deadline, cancel, output limit: the ──▲  │
//     │   cancelled,        │  │  withdrawn:   │ │    worker is killed by the same sweep     │
//     │◀── no maker ────────┘  └── its worker ─┘ │                                            │
//     │                            never came    │ an interactive step reports its end:       │
//     │                            back          │ its worker is expected back                │
//     │◀─────────────────────────────────────────┘                                            │
//     └◀──────────────────────────── no process but the spared ones is left ──────────────────┘
#pragma once

#include "init/host_link.h"
#include "init/memory_kills.h"
#include "init/preparation.h"
#include "init/sweep.h"
#include "init/turn.h"
#include "init/worker_slots.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hearth::init {

class TurnRunner {
 public:
  // All four must outlive it.
  TurnRunner(HostLink& host, Preparation& preparation, WorkerSlots& workers, Sweep& sweep)
      : host_(host), preparation_(preparation), workers_(workers), sweep_(sweep) {}

  bool busy() const { return turn_.has_value(); }
  // Only if not busy. Refuses a request whose secrets are missing.
  void accept(Turn turn);
  void cancel(const wire::CancelRequest& request);

  // The descriptors to wait for, and what was found on them.
  void add_interests(std::vector<pollfd>& polled) const;
  void note_output(const std::vector<pollfd>& polled);
  Clock::time_point wake_at() const;

  // False if the process that exited is not the turn's worker.
  bool handle_exit(pid_t pid, int wait_status, const rusage& usage);
  void add_reaped_usage(const rusage& usage);
  // Init kills all processes, for memory that no cgroup counts.
  void note_memory_kill(const std::string& why);

  // Does whatever the state asks for next.
  void advance(Clock::time_point now);

 private:
  bool runs() const { return turn_ && turn_->started(); }
  Worker& worker() { return workers_.of(turn_->request().mode); }
  const Worker& worker() const { return workers_.of(turn_->request().mode); }

  void start(Clock::time_point now);
  void start_in(Worker& worker, Clock::time_point now);
  void report_earlier_steps(Worker& worker, bool is_new);
  void advance_running(Clock::time_point now);
  bool sweep(Clock::time_point now);
  void end_step();
  void await_return(Clock::time_point now);
  void replace_interactive_worker();
  void end(Clock::time_point now);

  HostLink& host_;
  Preparation& preparation_;
  WorkerSlots& workers_;
  Sweep& sweep_;
  MemoryKills memory_kills_;

  std::optional<Turn> turn_;
  bool worker_exited_ = false;  // and was reaped
  bool text_waits_ = false;     // in the worker's pipes, by the last poll
  bool records_wait_ = false;
};

}  // namespace hearth::init
