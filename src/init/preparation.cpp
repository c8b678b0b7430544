#include "init/preparation.h"

#include "init/sandbox_failed.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <signal.h>

namespace hearth::init {
namespace {

// All that a worker says before it has a script.
class PreparationSink : public OutputSink {
 public:
  pid_t starting = 0;
  pid_t prepared = 0;
  pid_t holder = 0;
  std::string failure;
  void on_text(Stream /*stream*/, std::string_view /*bytes*/) override {}
  void on_malformed_record() override {}
  void on_record(std::string_view json) override try {
    wire::MemberReader members(json);
    const std::string type = members.string("type");
    if (type == "starting") starting = static_cast<pid_t>(members.count("pid"));
    if (type == "prepare_failed") failure = members.string("message");
    if (type != "prepared") return;
    prepared = static_cast<pid_t>(members.count("pid"));
    holder = static_cast<pid_t>(members.count("holder"));
  } catch (const wire::ProtocolError&) {
    on_malformed_record();
  }
};

WorkerMaker maker_for(const Options& options) {
  return options.adopted ? WorkerMaker(options.adopted->control_fd)
                         : WorkerMaker(options.harness_command);
}

}  // namespace

Preparation::Preparation(const Options& options) : maker_(maker_for(options)) {
  if (!options.adopted) return;
  ready_ = wire::Ready{wire::protocol_version, options.adopted->python,
                       options.adopted->harness_version};
  worker_ = Worker::adopt(options.adopted->worker_fds);
}

void Preparation::start() try {
  if (++attempts_ > max_prepare_attempts)
    throw SandboxFailed("no worker can be prepared: " +
                        (failure_.empty() ? "they exit at once" : failure_));
  check_limits();
  worker_ = maker_.prepare();
} catch (const OsError& error) {
  // Most likely the harness was killed and not yet reaped.
  throw SandboxFailed(error.what());
}

void Preparation::check_limits() const {
  if (maker_.pid() > 0 && !harness_limits_->hold_in(maker_.pid()))
    throw SandboxFailed("a script has changed the limits or the priority of the harness");
  if (!own_limits_.hold_in(::getpid()))
    throw SandboxFailed("a script has changed the limits or the priority of init");
}

void Preparation::try_again() {
  worker_.reset();
  if (!maker_.alive()) return;
  if (!commands_run_) return start();
  attempts_ = 0;
  retry_at_ = due_at_ = Clock::now() + prepare_delay;
}

bool Preparation::handle_maker() {
  std::optional<MakerMessage> message = maker_.receive();
  if (!message) return false;
  if (const auto* failed = std::get_if<MakerFailed>(&*message))
    throw SandboxFailed(failed->message, failed->traceback);
  if (auto* refusal = std::get_if<PrepareFailed>(&*message)) {
    failure_ = std::move(refusal->message);
    if (worker_) try_again();
    return false;
  }
  const auto& ready = std::get<MakerReady>(*message);
  ready_ = wire::Ready{wire::protocol_version, ready.python, ready.version};
  harness_limits_.emplace(maker_.pid());
  return true;
}

std::optional<Worker> Preparation::handle_worker() {
  PreparationSink sink;
  worker_->pump(sink);
  if (sink.starting > 0) worker_->pid = sink.starting;
  if (!sink.failure.empty()) failure_ = std::move(sink.failure);
  // A worker that was killed and reaped before its record was read would never be missed: its
  // holder may keep its pipes open.
  const bool was_killed = worker_->pid > 0 && ::kill(worker_->pid, 0) != 0;
  if (was_killed || (sink.prepared == 0 && worker_->emit_fd() < 0)) {
    try_again();
    return std::nullopt;
  }
  if (sink.prepared == 0) return std::nullopt;
  worker_->pid = sink.prepared;
  worker_->holder.pid = sink.holder;
  attempts_ = 0;
  failure_.clear();
  has_succeeded_ = true;
  return std::exchange(worker_, std::nullopt);
}

bool Preparation::handle_exit(pid_t pid) {
  if (pid == maker_.pid()) {
    handle_maker_exit();
    return true;
  }
  if (!worker_ || pid != worker_->pid) return false;
  // Its own children are left to the next sweep.
  try_again();
  return true;
}

void Preparation::handle_maker_exit() {
  maker_.mark_dead();
  if (has_succeeded_) return;
  // Its exit may be noticed before its last message was read, which says why.
  const std::optional<MakerMessage> last = maker_.receive();
  if (const auto* failed = last ? std::get_if<MakerFailed>(&*last) : nullptr)
    throw SandboxFailed(failed->message, failed->traceback);
  throw SandboxFailed("the harness exited before it was ready");
}

}  // namespace hearth::init
