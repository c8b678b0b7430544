// init/supervisor.h: the event loop of PID 1. One turn at a time, or a reset: after each, no
// process of it is alive. Beside a turn, commands and data streams go on.
//
//              maker ready,             run                turn ended
//   starting ──────────────▶  idle  ──────────▶  turn  ──────────────────▶ idle
//              first worker   │   ▲              (states: turn_runner.h)
//              prepared       │   │
//                             │   └── next worker prepared ── preparing ◀─────────┐
//                             │ reset                          (Reset::preparing) │ swept, cleaned
//                             up └───────▶ waits for a fork in progress, sweeps ─────┘
//                                       (Reset::wanted)
//
//   any state ── host hangs up ──▶ exit 0     SandboxFailed, or idle without a maker ──▶ exit 1
//
// `starting` is !preparation_.has_succeeded(), `turn` is turns_.busy(), the rest is `reset_`.
#pragma once

#include "init/clean_up.h"
#include "init/commands.h"
#include "init/file_requests.h"
#include "init/host_link.h"
#include "init/open_streams.h"
#include "init/options.h"
#include "init/preparation.h"
#include "init/sandbox_failed.h"
#include "init/socket_watch.h"
#include "init/sweep.h"
#include "init/turn_runner.h"
#include "init/worker_slots.h"
#include "os/unique_fd.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::init {

class Supervisor {
 public:
  explicit Supervisor(const Options& options);

  // Until the host hangs up or no turn can run any more. Returns the exit code.
  int run();

 private:
  // ---- the loop
  void run_once();
  std::vector<pollfd> interests() const;
  int poll_timeout_ms(Clock::time_point now) const;
  void dispatch(const std::vector<pollfd>& polled);
  void begin();
  void advance();
  void report_failure(const SandboxFailed& failure);
  void flush_before_exit();

  // ---- processes
  void reap();
  void handle_preparing_worker();

  // ---- requests
  void handle_requests();
  void handle_message(const wire::MessageReader::Message& message);
  void refuse_line(const std::string& why);
  void accept(wire::RunRequest request);
  void accept(const wire::CancelRequest& request);
  void accept(const wire::ResetRequest& request);
  void accept(const wire::PingRequest& request);
  void accept(const wire::FileRequest& request);
  void accept(const wire::Window& window) { streams_.accept(window); }
  void accept(const wire::End& end) { streams_.accept(end); }
  void accept(const wire::Abandon& abandon) { streams_.accept(abandon); }
  void accept(const wire::ExecRequest& request);
  void accept(const wire::SignalRequest& request) { commands_.accept(request); }
  void accept(const wire::ResizeRequest& request) { commands_.accept(request); }
  void accept(const wire::ListCommands& request) { commands_.accept(request); }
  void accept(const wire::AttachCommand& request) { commands_.accept(request); }

  bool busy() const { return turns_.busy() || reset_ != Reset::none; }
  bool lacks_worker() const;
  bool runs_code() const {
    return turns_.busy() || workers_.has_interactive() || workers_.commands_run();
  }
  void kill_for_sockets();
  void advance_reset(Clock::time_point now);
  void sweep_strays(Clock::time_point now);

  // A reset first waits until a fork in progress is done: a process whose pid is not known yet
  // cannot be killed. It is done when the next worker is prepared.
  enum class Reset { none, wanted, preparing };

  HostLink host_;
  OpenStreams streams_{host_};
  FileRequests files_;
  // Blocks all signals, before the maker starts: its exit must not be missed.
  struct BlockedSignals {
    BlockedSignals();
  } signals_;
  Preparation preparation_;
  WorkerSlots workers_;
  Sweep sweep_;
  CleanUp clean_up_;
  TurnRunner turns_{host_, preparation_, workers_, sweep_};
  Commands commands_;
  SocketWatch sockets_;
  Reset reset_ = Reset::none;
  wire::ResetDone reset_result_;
  bool more_to_reap_ = false;
  std::optional<int> exit_code_;
};

}  // namespace hearth::init
