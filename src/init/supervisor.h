// init/supervisor.h: the loop of PID 1. One turn at a time: a request from the host is given to a
// worker, what the worker says goes to the host, and when the turn is over nothing of it is alive.
#pragma once

#include "init/harness.h"
#include "init/host_link.h"
#include "init/inherited_limits.h"
#include "init/memory_kills.h"
#include "init/network_use.h"
#include "init/options.h"
#include "init/process_table.h"
#include "init/turn.h"
#include "init/wipe.h"
#include "init/worker.h"
#include "os/unique_fd.h"
#include "wire/messages.h"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::init {

class Supervisor {
 public:
  explicit Supervisor(const Options& options);

  // Until the host is gone or nothing can run any more. Returns the exit code.
  int run();

 private:
  struct WipedDirectory {
    explicit WipedDirectory(std::string where);
    std::string path;
    mode_t mode;
  };

  void adopt(const Options::Adopted& adopted);

  // ---- the loop
  std::vector<pollfd> interests() const;
  int patience_ms(Clock::time_point now) const;
  void handle_signals();
  void reap();
  void advance();
  void note_output(const std::vector<pollfd>& polled);
  void give_up(std::string why, std::string traceback = {});
  void flush_last_words();

  // ---- requests
  void handle_requests();
  void handle_request(std::string_view line);
  void refuse_line(const std::string& why);
  void accept(wire::RunRequest request);
  void accept(const wire::CancelRequest& request);
  void accept(const wire::ResetRequest& request);
  void accept(const wire::PingRequest& request);
  void accept(const wire::WriteFileRequest& request);
  static std::string missing_secrets(const wire::RunRequest& request);

  // ---- workers
  void handle_harness();
  void harness_ended();
  void prepare_worker();
  void watch_preparation();
  void announce_prepared();
  void worker_ended(pid_t pid, int wait_status, const rusage& usage);
  bool lacks_worker() const;
  Worker& turn_worker();
  const Worker& turn_worker() const;

  // ---- a turn, and what follows it
  void start_turn(Clock::time_point now);
  void tell_of_earlier_steps(Worker& worker, bool fresh);
  void resume_strangers() const;
  void advance_turn(Clock::time_point now);
  void end_step();
  void await_return(Clock::time_point now);
  void give_up_worker();
  void end_turn(Clock::time_point now);
  void advance_reset(Clock::time_point now);
  std::string clean_up();
  bool sweep(Clock::time_point now);
  std::vector<pid_t> spared_pids() const;

  Options options_;
  HostLink host_;
  MemoryKills memory_kills_;
  ProcessTable processes_;
  os::UniqueFd signals_;
  Harness harness_;
  std::optional<InheritedLimits> harness_limits_;  // of one in here, before the first script
  InheritedLimits own_limits_{::getpid()};         // which whoever runs as our user can change, too
  std::vector<WipedDirectory> wiped_;
  // Only beside a harness of our own: other sandboxes are not worth the time at their start, as
  // they serve one lease.
  std::optional<NetworkUse> network_;

  std::optional<wire::Ready> ready_;  // from the harness, until it was passed on
  bool was_ready_ = false;
  std::optional<Worker> preparing_;    // asked for, not yet there
  std::optional<Worker> prepared_;     // waits for a turn
  std::optional<Worker> interactive_;  // keeps the namespace between steps
  std::optional<Worker> plan_;         // runs the turn, if it is not the interactive one
  Clock::time_point prepare_at_{};     // when the next is asked for, if no turn needs it earlier
  int prepare_attempts_ = 0;
  std::string prepare_failure_;        // the harness's word on the last attempt
  std::string_view interactive_lost_;  // why it ended between two steps, if it has
  // Whether somebody may live on whom a step has started. He can stop what waits for a turn.
  bool has_strangers_ = false;

  bool more_to_reap_ = false;
  std::optional<Turn> turn_;
  bool worker_is_over_ = false;  // the turn's worker was reaped
  bool text_waits_ = false;      // in its pipes, by the last poll
  bool records_wait_ = false;
  // A reset waits until the harness has forked what it was asked for: who is not yet known by
  // number cannot be killed. Then it cleans up, and is done when the next worker stands.
  enum class Reset { none, wanted, preparing };
  Reset reset_ = Reset::none;
  wire::ResetDone reset_result_;
  std::optional<Clock::time_point> sweeping_since_;
  Clock::time_point next_sweep_{};
  std::optional<int> exit_code_;
};

}  // namespace hearth::init
