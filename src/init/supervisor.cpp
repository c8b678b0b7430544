#include "init/supervisor.h"

#include "base/error.h"
#include "init/limits.h"
#include "init/polled.h"
#include "wire/decode.h"
#include "wire/protocol_error.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace hearth::init {
namespace {

constexpr const char* busy_message = "the sandbox is busy with another request";

void note_child(int /*signal*/) {}

// Until an event, the timeout, or the exit of a child since the signal was last let through.
void wait_for(std::vector<pollfd>& polled, std::chrono::milliseconds timeout) {
  sigset_t all_but_child;
  sigfillset(&all_but_child);
  sigdelset(&all_but_child, SIGCHLD);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), std::chrono::nanoseconds(timeout - seconds).count()};
  const timespec* patience = timeout.count() < 0 ? nullptr : &limit;
  if (::ppoll(polled.data(), polled.size(), patience, &all_but_child) < 0 && errno != EINTR)
    throw OsError("poll");
}

}  // namespace

// All signals are blocked, so none can interrupt PID 1, but for SIGCHLD while it waits. No signal
// is a request: a script can send any of them, and with a full signal queue the sender is unknown.
// The host hangs up or kills instead. Not a signalfd: the system call filter, which init has too,
// refuses it to scripts.
Supervisor::BlockedSignals::BlockedSignals() {
  sigset_t all;
  sigfillset(&all);
  if (::sigprocmask(SIG_SETMASK, &all, nullptr) != 0) throw OsError("block signals");
  struct sigaction child{};
  child.sa_handler = note_child;  // a signal without a handler does not end a wait
  if (::sigaction(SIGCHLD, &child, nullptr) != 0) throw OsError("handle SIGCHLD");
}

Supervisor::Supervisor(const Options& options)
    : host_(options.host_read_fd, options.host_write_fd),
      files_(options.workspace, streams_),
      preparation_(options),
      clean_up_(options),
      commands_(options, host_, streams_, workers_, sweep_) {}

int Supervisor::run() {
  while (!exit_code_) run_once();
  flush_before_exit();
  return *exit_code_;
}

void Supervisor::run_once() try {
  std::vector<pollfd> polled = interests();
  wait_for(polled, std::chrono::milliseconds(poll_timeout_ms(Clock::now())));
  dispatch(polled);
  advance();
  if (!host_.flush()) exit_code_ = exit_code_.value_or(0);
} catch (const SandboxFailed& failure) {
  report_failure(failure);
}

std::vector<pollfd> Supervisor::interests() const {
  std::vector<pollfd> polled;
  watch(polled, host_.read_fd(), POLLIN);
  if (host_.backlog() > 0) watch(polled, host_.write_fd(), POLLOUT);
  watch(polled, preparation_.maker_fd(), POLLIN);
  watch(polled, preparation_.emit_fd(), POLLIN);
  turns_.add_interests(polled);
  commands_.add_interests(polled);
  return polled;
}

int Supervisor::poll_timeout_ms(Clock::time_point now) const {
  if (more_to_reap_ || streams_.is_ready()) return 0;
  Clock::time_point wake =
      std::min({turns_.wake_at(), sweep_.wake_at(), commands_.wake_at(), sockets_.wake_at()});
  if (lacks_worker()) wake = std::min(wake, preparation_.due_at());
  // A leftover process may stop the new worker again and again.
  if (busy() && preparation_.under_way() && workers_.leftovers_possible())
    wake = std::min(wake, now + sweep_interval);
  if (wake == Clock::time_point::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  // At most an hour at a time: a year does not fit into poll's int.
  return static_cast<int>(std::clamp<long long>(wait, 0, 3'600'000));
}

void Supervisor::dispatch(const std::vector<pollfd>& polled) {
  reap();  // always: beside descriptors that are ready, the kernel reports no signal
  if (has_event(polled, host_.read_fd())) handle_requests();
  if (has_event(polled, preparation_.maker_fd()) && preparation_.handle_maker()) begin();
  if (has_event(polled, preparation_.emit_fd())) handle_preparing_worker();
  turns_.note_output(polled);
}

// All is loaded. The first script finds what every script after a reset finds.
void Supervisor::begin() {
  if (const std::string problems = clean_up_.run(); !problems.empty())
    throw SandboxFailed("what was written while loading cannot be removed: " + problems);
  clean_up_.watch_network();
  preparation_.start();
}

// Does whatever the state asks for next, whichever event led to it.
void Supervisor::advance() {
  if (exit_code_) return;
  const Clock::time_point now = Clock::now();
  if (sockets_.finds_too_many(now, runs_code())) kill_for_sockets();
  turns_.advance(now);
  commands_.advance(now);
  preparation_.set_commands_run(workers_.commands_run());
  streams_.advance();
  if (reset_ == Reset::wanted) advance_reset(now);
  if (busy()) return;
  if (commands_.left_strays()) sweep_strays(now);
  if (!preparation_.can_make()) {
    exit_code_ = 1;
  } else if (lacks_worker() && now >= preparation_.due_at()) {
    preparation_.start();
  }
}

// An interactive worker is most likely asked for its next step, which must not wait for a fork.
bool Supervisor::lacks_worker() const {
  return preparation_.has_succeeded() && !busy() && !preparation_.under_way() &&
         !workers_.has_prepared() && !workers_.has_interactive();
}

void Supervisor::report_failure(const SandboxFailed& failure) {
  host_.send({{}, wire::ScriptError{"SandboxFailed", failure.what(), failure.traceback}});
  exit_code_ = 1;
}

// Waits a moment for a host that reads slowly.
void Supervisor::flush_before_exit() {
  const Clock::time_point patience_ends = Clock::now() + std::chrono::seconds(1);
  while (host_.flush() && host_.backlog() > 0 && Clock::now() < patience_ends) {
    pollfd writable{host_.write_fd(), POLLOUT, 0};
    ::poll(&writable, 1, 100);
  }
}

// A few at a time: processes may exit as fast as init reaps, and deadlines must be checked.
void Supervisor::reap() {
  more_to_reap_ = true;
  for (int reaped = 0; reaped < max_reaped_at_once; ++reaped) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) {
      more_to_reap_ = false;
      return;
    }
    if (!preparation_.handle_exit(pid) && !turns_.handle_exit(pid, status, usage) &&
        !commands_.handle_exit(pid, status, usage) && !workers_.handle_exit(pid))
      turns_.add_reaped_usage(usage);
  }
}

void Supervisor::handle_preparing_worker() {
  std::optional<Worker> worker = preparation_.handle_worker();
  if (!worker) return;
  workers_.add_prepared(*std::move(worker));
  if (const std::optional<wire::Ready> ready = preparation_.take_ready()) host_.send({{}, *ready});
  if (reset_ != Reset::preparing) return;
  reset_ = Reset::none;
  host_.send({{}, reset_result_});
}

void Supervisor::handle_requests() {
  const bool host_is_there = host_.receive();
  while (true) {
    try {
      const std::optional<wire::MessageReader::Message> message = host_.next_message();
      if (!message) break;
      handle_message(*message);
    } catch (const wire::ProtocolError& error) {
      refuse_line(error.what());
    }
  }
  // When PID 1 exits, the kernel kills everything in the sandbox.
  if (!host_is_there) exit_code_ = 0;
}

void Supervisor::handle_message(const wire::MessageReader::Message& message) {
  if (message.stream) return streams_.take_data(*message.stream, message.text);
  if (message.too_long)
    return refuse_line("the line is longer than " + std::to_string(max_request_bytes) + " bytes");
  wire::Request request = wire::decode_request(message.text);
  std::visit([this](auto& one) { accept(std::move(one)); }, request);
}

void Supervisor::refuse_line(const std::string& why) {
  host_.send({{}, wire::ScriptError{"ProtocolError", "request refused: " + why, {}}});
}

void Supervisor::accept(wire::RunRequest request) {
  Turn turn(std::move(request), host_);
  if (busy()) return turn.refuse(wire::Ending::refused, "Busy", busy_message);
  sweep_.stop();  // of strays, which the sweep after the turn kills
  turns_.accept(std::move(turn));
}

void Supervisor::accept(const wire::CancelRequest& request) {
  turns_.cancel(request);
  commands_.cancel(request);
}

void Supervisor::accept(const wire::ExecRequest& request) {
  if (reset_ == Reset::none) return commands_.accept(request);
  host_.send({request.execution_id, wire::ScriptError{"Busy", busy_message, {}}});
  wire::ScriptDone done;
  done.ending = wire::Ending::refused;
  host_.send({request.execution_id, done});
}

void Supervisor::accept(const wire::ResetRequest& /*request*/) {
  if (busy()) return host_.send({{}, wire::ResetDone{false, busy_message}});
  streams_.interrupt_all();
  reset_ = Reset::wanted;
}

void Supervisor::accept(const wire::PingRequest& /*request*/) { host_.send({{}, wire::Pong{}}); }

// Also during a turn.
void Supervisor::accept(const wire::FileRequest& request) {
  files_.accept(request, reset_ != Reset::none);
}

// Of a command whose runner was killed: they are children of init now. Not while a worker is
// forked, whose pid is not known yet.
void Supervisor::sweep_strays(Clock::time_point now) {
  if (preparation_.under_way()) return sweep_.stop();
  std::vector<pid_t> spared = workers_.pids();
  if (preparation_.maker_pid() > 0) spared.push_back(preparation_.maker_pid());
  // What earlier steps started lives on.
  const pid_t steps =
      workers_.has_interactive() ? workers_.of(wire::Mode::interactive).pid : pid_t{0};
  if (steps > 0) sweep_.spare_tree(steps);
  if (sweep_.advance(now, spared)) commands_.strays_are_gone();
  sweep_.forget_tree(steps);
}

// As the kernel does for memory that it counts. The turn and the commands then end by themselves.
void Supervisor::kill_for_sockets() {
  const std::string why = "killed: more than " + std::to_string(max_internet_sockets) +
                          " sockets, with connections that wait to be accepted";
  turns_.note_memory_kill(why);
  commands_.note_memory_kill(why);
  std::vector<pid_t> spared = workers_.prepared_pids();
  if (preparation_.maker_pid() > 0) spared.push_back(preparation_.maker_pid());
  sweep_.processes().kill_all_but(spared);
}

void Supervisor::advance_reset(Clock::time_point now) {
  if (!preparation_.can_make()) {
    reset_ = Reset::none;
    host_.send({{}, wire::ResetDone{false, "the harness has exited"}});
    return;
  }
  if (preparation_.under_way()) return workers_.resume_stopped();
  workers_.forget_all();
  commands_.forget_all();
  const pid_t maker = preparation_.maker_pid();
  if (!sweep_.advance(now, {&maker, maker > 0 ? 1U : 0U})) return;
  const std::string problems = clean_up_.run();
  reset_result_ = {problems.empty(), problems};
  // The next worker is forked after the clean-up.
  reset_ = Reset::preparing;
  preparation_.start();
}

}  // namespace hearth::init
