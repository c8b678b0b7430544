#include "init/turn.h"

#include "base/id.h"
#include "init/limits.h"
#include "wire/decode.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace hearth::init {
namespace {

Claim claim_named(std::string_view name) {
  if (name == "completed") return Claim::completed;
  if (name == "timeout") return Claim::timed_out;
  if (name == "cancelled") return Claim::cancelled;
  return Claim::failed;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string in_words(double value) {
  std::array<char, 32> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general)
          .ptr;
  return {digits.data(), end};
}

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Turn::Turn(wire::RunRequest request, HostLink& host)
    : request_(std::move(request)),
      output_(host, request_.execution_id, request_.max_output_bytes, request_.output) {}

void Turn::start(Clock::time_point now, double cpu_seconds_before,
                 std::uint64_t memory_kills_before) {
  started_at_ = now;
  mark_ = random_id();
  if (deadline_ == Clock::time_point::max()) {  // else it was withdrawn, and keeps its deadline
    deadline_ = now + duration_of(request_.timeout_seconds);
    kill_at_ = deadline_ + timeout_grace;
  }
  cpu_seconds_ = -cpu_seconds_before;
  memory_kills_before_ = memory_kills_before;
}

void Turn::cancel(Clock::time_point now) {
  if (!std::exchange(cancel_requested_, true)) interrupt_again_at_ = now + cancel_grace / 2;
  kill_at_ = std::min(kill_at_, now + cancel_grace);
}

bool Turn::take_second_interrupt(Clock::time_point now) {
  if (now < interrupt_again_at_) return false;
  interrupt_again_at_ = Clock::time_point::max();
  return true;
}

void Turn::end_because(wire::Ending reason) {
  if (!forced_ending_) forced_ending_ = reason;
}

void Turn::out_of_time() {
  end_because(cancel_requested_ ? wire::Ending::cancelled : wire::Ending::timed_out);
}

void Turn::add_reaped_usage(const rusage& usage) {
  cpu_seconds_ += seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Turn::process_ended(int wait_status, const rusage& usage) {
  wait_status_ = wait_status;
  ended_at_ = Clock::now();
  peak_memory_bytes_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  add_reaped_usage(usage);
}

void Turn::on_text(Stream stream, std::string_view bytes) {
  output_.add_text(stream, bytes);
  end_at_output_limit();
}

void Turn::end_at_output_limit() {
  if (output_.limit_reached()) end_because(wire::Ending::output_limit);
}

void Turn::on_record(std::string_view record) {
  if (!record.starts_with(mark_)) return on_malformed_record();
  record.remove_prefix(mark_.size());
  if (!record.starts_with(' ')) return on_malformed_record();
  on_marked_record(record.substr(1));
}

void Turn::on_marked_record(std::string_view json) try {
  wire::MemberReader members(json);
  const std::string type = members.string("type");
  if (type == "end") {
    const std::optional<std::int64_t> exit_code = members.optional_integer("exit_code");
    if (exit_code && (*exit_code < 0 || *exit_code > 255)) return on_malformed_record();
    claim_ = claim_named(members.string("outcome"));
    claimed_exit_code_ = exit_code;
    claimed_at_ = Clock::now();
    return;
  }
  if (type != "log" && type != "intermediate" && type != "display" && type != "final_result" &&
      type != "error")
    return on_malformed_record();
  // The harness sends one; a script that writes to the pipe itself may send many.
  if (type == "final_result" && result_sent_) return on_malformed_record();
  wire::EventBody body = wire::decode_body(type, members);
  members.finish();
  error_sent_ = error_sent_ || type == "error";
  result_sent_ = result_sent_ || type == "final_result";
  output_.add(std::move(body));
  end_at_output_limit();
} catch (const wire::ProtocolError&) {
  on_malformed_record();
}

bool Turn::exited_cleanly() const {
  return wait_status_ && WIFEXITED(*wait_status_) && WEXITSTATUS(*wait_status_) == 0;
}

wire::Ending Turn::ending() const {
  using wire::Ending;
  const bool process_is_over = wait_status_.has_value();
  const bool claim_counts = claim_ && (!process_is_over || exited_cleanly());
  // Work that finished at the moment it was to be stopped is finished. But the claim of a process
  // that had to be killed does not count.
  if (forced_ending_ && (*forced_ending_ == Ending::output_limit || !claim_counts))
    return *forced_ending_;
  // The alarm also kills a process that cannot report it: one that executed another program, or
  // closed its pipes. The time of the exit counts, not the time at which init read the claim.
  if (over_at() >= deadline_) return Ending::timed_out;
  // A process that executed another program ends on an interrupt without a claim.
  if (!claim_counts && cancel_requested_) return Ending::cancelled;
  if (!claim_counts)
    return process_is_over && WIFSIGNALED(*wait_status_) ? Ending::signalled : Ending::exited;
  if (*claim_ == Claim::completed) return Ending::completed;
  return *claim_ == Claim::cancelled && cancel_requested_ ? Ending::cancelled : Ending::failed;
}

// As a Python process would have it.
std::optional<std::int64_t> Turn::exit_code(wire::Ending ending) const {
  if (ending == wire::Ending::completed) return 0;
  if (ending == wire::Ending::failed)
    return std::max<std::int64_t>(claimed_exit_code_.value_or(1), 1);
  if (ending == wire::Ending::exited) return WEXITSTATUS(wait_status_.value_or(0));
  return std::nullopt;
}

void Turn::report_error(wire::Ending ending) {
  const auto say = [this](std::string name, std::string message) {
    output_.say(wire::ScriptError{std::move(name), std::move(message), {}});
  };
  if (ending == wire::Ending::output_limit)
    return say("OutputLimit", "Output limit of " + std::to_string(request_.max_output_bytes) +
                                  " bytes reached (resource_limits.max_output_bytes)");
  if (error_sent_) return;
  if (ending == wire::Ending::timed_out)
    return say("ScriptTimeout",
               "Script timed out after " + in_words(request_.timeout_seconds) +
                   "s (resource_limits.execution_timeout_sec, or the timeout of the run)");
  if (ending == wire::Ending::cancelled) return say("KeyboardInterrupt", "Script cancelled");
  if (ending == wire::Ending::exited)
    return say("ProcessExited", "The script's process ended by itself with exit code " +
                                    std::to_string(WEXITSTATUS(wait_status_.value_or(0))));
  if (ending == wire::Ending::signalled)
    return say(wire::process_killed, "The script's process was killed by signal " +
                                         std::to_string(WTERMSIG(wait_status_.value_or(0))));
}

void Turn::conclude(Clock::time_point now, bool state_lost, double cpu_seconds_now,
                    std::uint64_t memory_kills_now) {
  wire::ScriptDone done;
  done.ending = ending();
  done.started = true;
  done.state_lost = state_lost;
  done.out_of_memory = memory_kills_now > memory_kills_before_;
  done.exit_code = exit_code(done.ending);
  done.called_exit =
      claimed_exit_code_ && request_.sys_exit == wire::SysExit::python &&
      (done.ending == wire::Ending::completed || done.ending == wire::Ending::failed);
  if (wait_status_ && WIFSIGNALED(*wait_status_)) done.signal = WTERMSIG(*wait_status_);
  done.usage.wall_seconds =
      std::chrono::duration<double>((wait_status_ ? ended_at_ : now) - *started_at_).count();
  done.usage.cpu_seconds = std::max(0.0, cpu_seconds_ + cpu_seconds_now);
  done.usage.peak_memory_bytes = peak_memory_bytes_;
  output_.finish();
  done.usage.output_bytes = output_.bytes();
  done.truncated = output_.truncated();
  if (malformed_records_ > 0 && !output_.limit_reached())
    output_.say(wire::Log{"warning", std::to_string(malformed_records_) +
                                         " malformed records of the script were dropped"});
  report_error(done.ending);
  output_.say(done);
}

void Turn::refuse(wire::Ending ending, std::string name, std::string message) {
  output_.say(wire::ScriptError{std::move(name), std::move(message), {}});
  wire::ScriptDone done;
  done.ending = ending;
  output_.say(done);
}

}  // namespace hearth::init
