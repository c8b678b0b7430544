#include "init/command.h"

#include "base/error.h"
#include "init/nonblocking_io.h"
#include "init/polled.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

namespace hearth::init {
namespace {

// A command that floods its pipes must not keep init from others.
constexpr int max_chunks_at_once = 4;

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

}  // namespace

Command::Command(const wire::ExecRequest& request, const CommandPlan& plan, int script,
                 CommandStreams streams, HostLink& host, const ProcessTable& processes,
                 std::uint64_t memory_kills)
    : execution_id_(request.execution_id),
      program_(plan.argv.front()),
      is_background_(request.background),
      events_(host, request.execution_id, request.max_output_bytes),
      input_(std::move(streams.input)),
      output_(streams.output ? std::move(streams.output) : std::make_shared<EventOutput>(events_)),
      processes_(processes),
      memory_kills_before_(memory_kills),
      max_output_bytes_(request.max_output_bytes),
      timeout_seconds_(request.timeout_seconds),
      started_at_(Clock::now()),
      process_(plan, request, script) {
  if (timeout_seconds_ > 0)
    deadline_ = started_at_ + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(timeout_seconds_));
}

void Command::add_interests(std::vector<pollfd>& polled) const {
  watch(polled, process_.report_fd(), POLLIN);
  if (input_ && input_->is_waiting()) watch(polled, process_.input_fd(), POLLOUT);
  if (output_->room(Stream::out) > 0) watch(polled, process_.output_fd(), POLLIN);
  if (output_->room(Stream::err) > 0) watch(polled, process_.errors_fd(), POLLIN);
}

Clock::time_point Command::wake_at() const {
  if (runner() == 0) return reason_ ? deliver_until_ : deadline_;
  if (next_kill_at_ != Clock::time_point{}) return next_kill_at_;
  if (has_exited()) return Clock::time_point::max();
  return warned_ ? kill_at_ : std::min(deadline_, kill_at_);
}

void Command::cancel(Clock::time_point now) {
  if (reason_) return;
  reason_ = wire::Ending::cancelled;
  if (has_exited()) return;  // its output waits for the host
  kill_at_ = now + cancel_grace;
  signal(SIGINT, false);
}

void Command::abandon() {
  reason_ = wire::Ending::cancelled;
  if (!has_exited()) {
    wait_status_ = SIGKILL;
    ended_at_ = Clock::now();
  }
  conclude(memory_kills_before_);
}

void Command::signal(int number, bool whole_tree) const {
  if (pid_ == 0 || has_exited()) return;
  if (whole_tree) {
    processes_.signal_below(runner(), number);
  } else {
    ::kill(-pid_, number);
  }
}

void Command::runner_exited(int wait_status, const rusage& usage) {
  take_reports(Clock::now());
  usage_ = usage;
  process_.forget_runner();
  // By itself it exits when nothing is left below it. A process of the sandbox can have killed it,
  // or the kernel, for want of memory.
  lost_its_tree_ = wait_status != 0;
  if (has_exited()) return;
  wait_status_ = wait_status;
  ended_at_ = Clock::now();
}

// A process of the sandbox may have stopped it. It could say nothing more then.
void Command::resume_runner() const {
  siginfo_t stopped{};
  const auto id = static_cast<id_t>(runner());
  if (::waitid(P_PID, id, &stopped, WSTOPPED | WNOHANG) == 0 && stopped.si_pid != 0)
    ::kill(runner(), SIGCONT);
}

void Command::take_reports(Clock::time_point now) {
  while (const std::optional<RunnerReport> report = process_.next_report()) {
    if (report->kind == RunnerReport::Kind::started) {
      pid_ = report->value;
      events_.say(wire::Started{static_cast<std::uint64_t>(pid_)});
    } else if (report->kind == RunnerReport::Kind::no_directory ||
               report->kind == RunnerReport::Kind::no_program) {
      failure_ = *report;
      ended_at_ = now;
    } else if (!failure_) {
      wait_status_ = report->value;
      ended_at_ = now;
      if (report->kind == RunnerReport::Kind::left_processes) next_kill_at_ = now;
    }
  }
}

bool Command::advance(Clock::time_point now, std::uint64_t memory_kills) {
  if (runner() > 0) resume_runner();
  take_reports(now);
  feed();
  const bool progress = pump();
  if (output_->limit_reached() && !reason_) {
    reason_ = wire::Ending::output_limit;
    kill_at_ = now;
  }
  enforce_deadline(now);
  const bool is_due = has_exited() ? next_kill_at_ != Clock::time_point{} : now >= kill_at_;
  if (runner() > 0 && is_due) kill_tree(now);
  if (runner() > 0) return false;
  if (progress && !output_->limit_reached() && !gives_up_delivery(now)) return false;
  conclude(memory_kills);
  return true;
}

// Its output belongs to its time. So a host that does not read cannot keep it for ever.
bool Command::gives_up_delivery(Clock::time_point now) {
  if (!reason_ && now >= deadline_) {
    reason_ = wire::Ending::timed_out;
    deliver_until_ = now;
  }
  if (reason_) deliver_until_ = std::min(deliver_until_, now + delivery_patience);
  return now >= deliver_until_;
}

void Command::enforce_deadline(Clock::time_point now) {
  if (now < deadline_ || warned_ || has_exited()) return;
  warned_ = true;
  if (!reason_) reason_ = wire::Ending::timed_out;
  kill_at_ = std::min(kill_at_, now + timeout_grace);
  signal(SIGTERM, false);
}

void Command::kill_tree(Clock::time_point now) {
  if (now < next_kill_at_) return;
  // Processes may fork as fast as they are killed. Then everything is stopped for a moment.
  constexpr int kills_before_freeze = 1;
  // What it adopted is swept then as what was lost.
  constexpr int kills_before_runner = 100;
  processes_.kill_below(runner(), ++kills_ > kills_before_freeze);
  ::kill(runner(), kills_ > kills_before_runner ? SIGKILL : SIGCONT);
  next_kill_at_ = now + sweep_interval;
}

void Command::feed() {
  if (!input_) return;
  if (has_exited()) {
    input_->close();
  } else if (process_.has_terminal()) {
    input_->pump_terminal(process_.input_fd());
  } else {
    input_->pump(process_.input());
  }
}

bool Command::pump() {
  if (pid_ == 0 && !has_exited()) return false;  // first of all that it has started
  const bool printed = read_text(process_.output(), Stream::out);
  const bool complained = read_text(process_.errors(), Stream::err);
  return printed || complained;
}

// True if there may be more.
bool Command::read_text(os::UniqueFd& fd, Stream stream) {
  bool progress = false;
  std::array<char, read_chunk_bytes> chunk;  // NOLINT: filled by read
  for (int i = 0; i < max_chunks_at_once && fd; ++i) {
    // As if the end of a pipe was closed.
    if (!output_->is_wanted(stream)) fd.reset();
    const std::size_t size = std::min(output_->room(stream), chunk.size());
    if (size == 0) return static_cast<bool>(fd);
    const ReadResult result = read_available(fd.get(), std::span(chunk).first(size));
    output_->add(stream, {chunk.data(), result.bytes});
    progress = progress || result.bytes > 0;
    if (result.ended) fd.reset();
    if (result.bytes < size) break;
  }
  // At its end nothing would wake init for more.
  return progress && fd;
}

wire::Ending Command::ending() const {
  using wire::Ending;
  if (reason_ == Ending::output_limit || output_->limit_reached()) return Ending::output_limit;
  if (reason_) return *reason_;
  if (failure_) return Ending::failed;
  if (WIFSIGNALED(*wait_status_)) return Ending::signalled;
  return WEXITSTATUS(*wait_status_) == 0 ? Ending::completed : Ending::failed;
}

void Command::report_error(wire::Ending ending) {
  const auto say = [this](std::string name, std::string message) {
    events_.say(wire::ScriptError{std::move(name), std::move(message), {}});
  };
  if (ending == wire::Ending::output_limit)
    return say("OutputLimit",
               "Output limit of " + std::to_string(max_output_bytes_) + " bytes reached");
  if (ending == wire::Ending::timed_out)
    return say("CommandTimeout", "Command timed out after " + in_words(timeout_seconds_) + "s");
  if (ending == wire::Ending::cancelled) return say("KeyboardInterrupt", "Command cancelled");
  if (ending == wire::Ending::signalled)
    return say(wire::process_killed,
               "The command was killed by signal " + std::to_string(WTERMSIG(*wait_status_)));
  if (!failure_) return;
  const std::string why = std::strerror(failure_->value);
  if (failure_->kind == RunnerReport::Kind::no_directory)
    return say("InvalidDirectory", "The command's directory cannot be entered: " + why);
  say(failure_->value == ENOENT ? "CommandNotFound" : "CommandNotExecutable",
      "cannot run " + program_ + ": " + why);
}

void Command::conclude(std::uint64_t memory_kills) {
  if (input_) input_->close();
  output_->finish();
  done_ = facts(memory_kills);
  if (!is_heard()) return;
  report_error(done_->ending);
  events_.say(*done_);
}

wire::ScriptDone Command::facts(std::uint64_t memory_kills) const {
  constexpr int not_found = 127;
  constexpr int not_executable = 126;
  wire::ScriptDone done;
  done.ending = ending();
  done.started = !failure_;
  done.out_of_memory = memory_kills > memory_kills_before_;
  if (failure_)
    done.exit_code = failure_->value == ENOENT ? not_found : not_executable;
  else if (WIFEXITED(*wait_status_))
    done.exit_code = WEXITSTATUS(*wait_status_);
  else
    done.signal = WTERMSIG(*wait_status_);
  done.usage.wall_seconds = std::chrono::duration<double>(ended_at_ - started_at_).count();
  done.usage.cpu_seconds = seconds(usage_.ru_utime) + seconds(usage_.ru_stime);
  done.usage.peak_memory_bytes = static_cast<std::uint64_t>(usage_.ru_maxrss) * 1024;
  done.usage.output_bytes = output_->bytes();
  return done;
}

wire::CommandInfo Command::info() const {
  wire::CommandInfo info{execution_id_, static_cast<std::uint64_t>(pid_), is_background_,
                         output_->bytes()};
  if (!done_) return info;
  info.ending = done_->ending;
  info.exit_code = done_->exit_code;
  info.signal = done_->signal;
  return info;
}

}  // namespace hearth::init
