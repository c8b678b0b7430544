// init/turn.h: the facts of one turn: what the script has written, what it may still write, and how
// it ended. Acts on no process.
#pragma once

#include "init/host_link.h"
#include "init/limits.h"
#include "init/ordered_output.h"
#include "init/turn_output.h"
#include "wire/messages.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace hearth::init {

// What the worker reports about its script's end. Not proven: the script shares the worker's
// process.
enum class Claim { completed, failed, timed_out, cancelled };

class Turn : public OutputSink {
 public:
  Turn(wire::RunRequest request, HostLink& host);

  const wire::RunRequest& request() const { return request_; }
  bool interactive() const { return request_.mode == wire::Mode::interactive; }

  void start(Clock::time_point now, double cpu_seconds_before, std::uint64_t memory_kills_before);
  bool started() const { return started_at_.has_value(); }
  // No process has read its request: it will be started again, within its first deadline.
  void withdraw() { started_at_.reset(); }
  // Random, and new with each start: it tells this turn's records from all others. Only its worker
  // gets it, when the turn starts.
  const std::string& mark() const { return mark_; }
  Clock::duration lasted(Clock::time_point now) const { return now - *started_at_; }
  // When init kills the worker: the deadline and its grace, or that of a cancellation.
  Clock::time_point kill_at() const { return kill_at_; }
  Clock::time_point wake_at() const { return std::min(kill_at_, interrupt_again_at_); }

  void on_text(Stream stream, std::string_view bytes) override;
  void on_record(std::string_view record) override;  // the mark, a blank and an event
  void on_malformed_record() override { ++malformed_records_; }

  void cancel(Clock::time_point now);
  bool cancel_requested() const { return cancel_requested_; }
  // True once, when the interrupt is to be repeated: the first is lost if it came before the worker
  // was ready for it.
  bool take_second_interrupt(Clock::time_point now);
  // The first reason counts; later ones are its consequences.
  void end_because(wire::Ending reason);
  void out_of_time();
  bool must_die() const { return forced_ending_.has_value(); }
  bool claimed_end() const { return claim_.has_value(); }

  void add_reaped_usage(const rusage& usage);
  void set_peak_memory(std::uint64_t bytes) { peak_memory_bytes_ = bytes; }
  void process_ended(int wait_status, const rusage& usage);

  // Both send the last events of this turn, and `script_done` as the very last.
  void refuse(wire::Ending ending, std::string name, std::string message);
  void conclude(Clock::time_point now, bool state_lost, double cpu_seconds_now,
                std::uint64_t memory_kills_now);

 private:
  wire::Ending ending() const;
  std::optional<std::int64_t> exit_code(wire::Ending ending) const;
  bool exited_cleanly() const;
  Clock::time_point over_at() const { return wait_status_ ? ended_at_ : claimed_at_; }
  void on_marked_record(std::string_view json);
  void end_at_output_limit();
  void report_error(wire::Ending ending);

  wire::RunRequest request_;
  TurnOutput output_;
  std::optional<Clock::time_point> started_at_;
  std::string mark_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool cancel_requested_ = false;
  Clock::time_point interrupt_again_at_ = Clock::time_point::max();
  std::optional<wire::Ending> forced_ending_;
  std::optional<Claim> claim_;
  std::optional<std::int64_t> claimed_exit_code_;  // that of sys.exit()
  Clock::time_point claimed_at_{};
  std::optional<int> wait_status_;
  Clock::time_point ended_at_{};
  bool error_sent_ = false;
  bool result_sent_ = false;
  std::uint64_t malformed_records_ = 0;
  double cpu_seconds_ = 0;  // negative at first: used by the worker before this turn
  std::uint64_t peak_memory_bytes_ = 0;
  std::uint64_t memory_kills_before_ = 0;
};

}  // namespace hearth::init
