#include "init/supervisor.h"

#include "base/error.h"
#include "init/limits.h"
#include "init/workspace_file.h"
#include "wire/decode.h"
#include "wire/protocol_error.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace hearth::init {
namespace {

os::UniqueFd open_signals() {
  sigset_t wanted;
  sigfillset(&wanted);
  // Everything is blocked: nothing anybody sends may interrupt PID 1. What it wants to know it
  // reads, and that is only who ended. No signal is a request: a script can send any of them, and
  // with a full signal queue nobody can tell where one came from. The host hangs up, or kills.
  if (::sigprocmask(SIG_SETMASK, &wanted, nullptr) != 0) throw OsError("block signals");
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  os::UniqueFd fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw OsError("open signalfd");
  return fd;
}

bool ready_for(const std::vector<pollfd>& polled, int fd) {
  return std::any_of(polled.begin(), polled.end(),
                     [fd](const pollfd& one) { return one.fd == fd && one.revents != 0; });
}

}  // namespace

Supervisor::Supervisor(const Options& options)
    : options_(options),
      host_(options.host_read_fd, options.host_write_fd),
      signals_(open_signals()),
      harness_(options.adopted ? Harness(options.adopted->control_fd)
                               : Harness(options.harness_command)) {
  if (options_.adopted) adopt(*options_.adopted);
  for (const std::string& path : options_.wiped_directories) wiped_.push_back(WipedDirectory(path));
  if (options_.passwd) wiped_.push_back(WipedDirectory(options_.passwd->directory));
}

void Supervisor::adopt(const Options::Adopted& adopted) {
  ready_ = wire::Ready{adopted.python, adopted.harness_version};
  preparing_ = Worker::adopt(adopted.worker_fds);
}

int Supervisor::run() {
  while (!exit_code_) {
    std::vector<pollfd> polled = interests();
    if (::poll(polled.data(), polled.size(), patience_ms(Clock::now())) < 0 && errno != EINTR)
      throw OsError("poll");
    if (more_to_reap_ || ready_for(polled, signals_.get())) handle_signals();
    if (ready_for(polled, host_.read_fd())) handle_requests();
    if (harness_.control_fd() >= 0 && ready_for(polled, harness_.control_fd())) handle_harness();
    if (preparing_ && ready_for(polled, preparing_->emit_fd())) watch_preparation();
    note_output(polled);
    advance();
    if (!host_.flush()) exit_code_ = exit_code_.value_or(0);
  }
  flush_last_words();
  return *exit_code_;
}

std::vector<pollfd> Supervisor::interests() const {
  std::vector<pollfd> polled;
  const auto watch = [&polled](int fd, short events) {
    if (fd >= 0) polled.push_back({fd, events, 0});
  };
  watch(host_.read_fd(), POLLIN);
  if (host_.backlog() > 0) watch(host_.write_fd(), POLLOUT);
  watch(signals_.get(), POLLIN);
  watch(harness_.control_fd(), POLLIN);
  if (preparing_) watch(preparing_->emit_fd(), POLLIN);
  if (!turn_ || !turn_->started()) return polled;
  const Worker& worker = turn_worker();
  if (worker.request_pending()) watch(worker.run_fd(), POLLOUT);
  if (host_.backlog() < max_host_backlog_bytes) {
    watch(worker.stdout_fd(), POLLIN);
    watch(worker.stderr_fd(), POLLIN);
    watch(worker.emit_fd(), POLLIN);
  }
  return polled;
}

void Supervisor::note_output(const std::vector<pollfd>& polled) {
  text_waits_ = records_wait_ = false;
  if (!turn_ || !turn_->started()) return;
  const Worker& worker = turn_worker();
  text_waits_ = ready_for(polled, worker.stdout_fd()) || ready_for(polled, worker.stderr_fd());
  records_wait_ = ready_for(polled, worker.emit_fd());
}

int Supervisor::patience_ms(Clock::time_point now) const {
  if (more_to_reap_) return 0;
  Clock::time_point wake = Clock::time_point::max();
  if (turn_ && turn_->started() && !turn_->must_die() && !worker_is_over_) wake = turn_->wake_at();
  if (interactive_) wake = std::min({wake, interactive_->check_at(), interactive_->back_by()});
  if (sweeping_since_) wake = std::min(wake, next_sweep_);
  if (lacks_worker()) wake = std::min(wake, prepare_at_);
  // Whom a stranger stops must be resumed, however often.
  if (preparing_ && has_strangers_ && (turn_ || reset_ != Reset::none))
    wake = std::min(wake, now + sweep_interval);
  if (wake == Clock::time_point::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  // An hour at a time: a year does not fit into poll's int.
  return static_cast<int>(std::clamp<long long>(wait, 0, 3'600'000));
}

void Supervisor::handle_signals() {
  // Once, not until it is empty: scripts may send SIGCHLD as fast as we read.
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) < 0 && errno != EAGAIN)
    throw OsError("read signals");
  reap();
}

// A few at a time: a swarm may end as fast as we reap, and the clock must be looked at.
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
    if (pid == harness_.pid()) {
      harness_ended();
    } else {
      worker_ended(pid, status, usage);
    }
  }
}

void Supervisor::handle_requests() {
  const bool host_is_there = host_.receive();
  while (const std::optional<wire::LineReader::Line> line = host_.next_line()) {
    if (line->too_long) {
      refuse_line("the line is longer than " + std::to_string(max_request_bytes) + " bytes");
    } else {
      handle_request(line->text);
    }
  }
  // Its end is ours, and with PID 1 the kernel ends everything in the sandbox.
  if (!host_is_there) exit_code_ = 0;
}

void Supervisor::handle_request(std::string_view line) try {
  wire::Request request = wire::decode_request(line);
  std::visit([this](auto& one) { accept(std::move(one)); }, request);
} catch (const wire::ProtocolError& error) {
  refuse_line(error.what());
}

void Supervisor::refuse_line(const std::string& why) {
  host_.send({{}, wire::ScriptError{"ProtocolError", "request refused: " + why, {}}});
}

void Supervisor::accept(wire::RunRequest request) {
  Turn turn(std::move(request), host_);
  if (turn_ || reset_ != Reset::none)
    return turn.refuse(wire::Ending::refused, "Busy", "the sandbox is busy with another request");
  const std::string missing = missing_secrets(turn.request());
  if (!missing.empty())
    return turn.refuse(wire::Ending::missing_secret, "MissingSecret",
                       "required secrets are missing: " + missing);
  turn_.emplace(std::move(turn));
  worker_is_over_ = false;
}

void Supervisor::accept(const wire::CancelRequest& request) {
  if (!turn_ || turn_->request().execution_id != request.execution_id) return;
  if (!turn_->started()) {
    turn_->refuse(wire::Ending::cancelled, "KeyboardInterrupt", "Script cancelled");
    turn_.reset();
    return;
  }
  turn_->cancel(Clock::now());
  // Once reaped, its number may already be a stranger's.
  if (!worker_is_over_) ::kill(turn_worker().pid, SIGINT);
}

void Supervisor::accept(const wire::ResetRequest& /*request*/) {
  if (turn_ || reset_ != Reset::none) {
    host_.send({{}, wire::ResetDone{false, "the sandbox is busy with another request"}});
    return;
  }
  reset_ = Reset::wanted;
  interactive_lost_ = {};
}

void Supervisor::accept(const wire::PingRequest& /*request*/) { host_.send({{}, wire::Pong{}}); }

// Not beside a script: it would meet half of a file.
void Supervisor::accept(const wire::WriteFileRequest& request) {
  const bool busy = turn_ || reset_ != Reset::none;
  std::string error =
      busy ? "cannot write " + request.path + ": the sandbox is busy with another request"
           : write_workspace_file(options_.workspace, request);
  host_.send({{}, wire::FileWritten{request.path, std::move(error)}});
}

std::string Supervisor::missing_secrets(const wire::RunRequest& request) {
  std::string missing;
  for (const std::string& name : request.secrets) {
    if (request.env.contains(name) || ::getenv(name.c_str()) != nullptr) continue;
    missing += (missing.empty() ? "" : ", ") + name;
  }
  return missing;
}

void Supervisor::give_up(std::string why, std::string traceback) {
  host_.send({{}, wire::ScriptError{"SandboxFailed", std::move(why), std::move(traceback)}});
  exit_code_ = 1;
}

// The host may be slow to read; it is not worth more than a moment of waiting for.
void Supervisor::flush_last_words() {
  const Clock::time_point patience_ends = Clock::now() + std::chrono::seconds(1);
  while (host_.flush() && host_.backlog() > 0 && Clock::now() < patience_ends) {
    pollfd writable{host_.write_fd(), POLLOUT, 0};
    ::poll(&writable, 1, 100);
  }
}

}  // namespace hearth::init
