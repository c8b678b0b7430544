#include "execution/turn.h"

#include "base/log.h"

#include <cassert>
#include <cstdint>
#include <limits>
#include <utility>

namespace hearth::execution {

// Shared by the handle and its tasks, so that each may end first.
struct Turn::State {
  enum class Phase { waiting, running, over };
  class Running;

  State(pool::Lease& leased, WireRequest built, OnEvent listener, CommandIo streams)
      : lease(leased),
        executor(leased.sandbox(), {.places_of_secrets = leased.binding().secrets.places}),
        execution_id(std::visit([](const auto& one) { return one.execution_id; }, built)),
        request(std::move(built)),
        on_event(std::move(listener)),
        io(std::move(streams)),
        is_command(std::holds_alternative<wire::ExecRequest>(request)) {}

  static Task<ExecutionResult> run(std::shared_ptr<State> turn);
  static Task<> cancel(std::shared_ptr<State> turn);
  static Task<bool> write_input(std::shared_ptr<State> turn, std::string_view bytes);
  static Task<> end_input(std::shared_ptr<State> turn);
  void kill();
  void drop();
  // To a command that runs.
  void post(const wire::Request& message) {
    if (is_command && phase == Phase::running) lease.sandbox().channel().post(message);
  }

  pool::Lease& lease;
  ScriptExecutor executor;
  std::string execution_id;
  WireRequest request;
  OnEvent on_event;
  CommandIo io;
  bool is_command;
  Phase phase = Phase::waiting;
  bool was_cancelled = false;  // before it started
  bool was_killed = false;
};

namespace {

void condemn_and_kill(pool::Lease& lease) noexcept try {
  lease.mark_unusable();
  lease.sandbox().kill();
} catch (const std::exception& error) {
  log::error("sandbox could not be killed",
             {{"sandbox", lease.sandbox_id()}, {"error", error.what()}});
}

}  // namespace

// Whatever ends a turn without a known state leaves a script running.
class Turn::State::Running {
 public:
  // A command that is left behind ends as every command does, without the sandbox.
  explicit Running(State& turn) : turn_(turn), leaves_sandbox_usable_(turn.is_command) {
    turn_.phase = Phase::running;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    turn_.phase = Phase::over;
    if (!leaves_sandbox_usable_) condemn_and_kill(turn_.lease);
  }
  void leaves_sandbox_usable(bool is_usable) { leaves_sandbox_usable_ = is_usable; }

 private:
  State& turn_;
  bool leaves_sandbox_usable_;
};

Task<ExecutionResult> Turn::State::run(std::shared_ptr<State> turn) {
  assert(turn->phase == Phase::waiting);
  if (turn->was_cancelled) {
    turn->phase = Phase::over;
    co_return ExecutionResult{.verdict = Verdict::cancelled, .sandbox_usable = true};
  }
  Running running(*turn);
  ExecutionResult result = co_await turn->executor.run(
      std::move(turn->request), std::move(turn->on_event), std::move(turn->io));
  if (turn->was_killed) {
    result.sandbox_usable = false;
    if (result.verdict == Verdict::lost) result.verdict = Verdict::cancelled;
  }
  if (std::holds_alternative<wire::RunRequest>(turn->request))
    result.python = turn->lease.sandbox().python();
  result.degraded = turn->lease.sandbox().degraded();
  running.leaves_sandbox_usable(result.sandbox_usable);
  co_return result;
}

Task<> Turn::State::cancel(std::shared_ptr<State> turn) {
  if (turn->phase == Phase::waiting) turn->was_cancelled = true;
  if (turn->phase == Phase::running) co_await turn->executor.cancel();
}

void Turn::State::kill() {
  if (phase == Phase::waiting) was_cancelled = true;
  if (phase != Phase::running) return;
  was_killed = true;
  condemn_and_kill(lease);
}

void Turn::State::drop() {
  if (!is_command) return kill();
  if (phase == Phase::waiting) was_cancelled = true;
  post(wire::CancelRequest{execution_id});
}

Task<bool> Turn::State::write_input(std::shared_ptr<State> turn, std::string_view bytes) {
  co_return co_await turn->executor.write_input(bytes);
}

Task<> Turn::State::end_input(std::shared_ptr<State> turn) { co_await turn->executor.end_input(); }

Turn::Turn(pool::Lease& lease, TurnRequest request, OnEvent on_event, OnOutput on_output) {
  CommandIo io{request.input, request.input_stays_open, std::move(on_output)};
  const bool is_limited = !io.on_output || request.max_output_bytes.has_value();
  WireRequest wire = wire_request(lease.binding(), std::move(request));
  // Bytes that nothing keeps.
  if (auto* command = std::get_if<wire::ExecRequest>(&wire); command != nullptr && !is_limited)
    command->max_output_bytes = std::numeric_limits<std::int64_t>::max();
  state_ = std::make_shared<State>(lease, std::move(wire), std::move(on_event), std::move(io));
}

Turn::~Turn() {
  if (state_) state_->drop();
}

const std::string& Turn::execution_id() const { return state_->execution_id; }

Task<ExecutionResult> Turn::finished() { return State::run(state_); }

Task<> Turn::cancel() { return State::cancel(state_); }

void Turn::kill() { state_->kill(); }

void Turn::signal(std::string name, bool all_processes) {
  state_->post(wire::SignalRequest{state_->execution_id, std::move(name), all_processes});
}

void Turn::resize(wire::TerminalSize size) {
  state_->post(wire::ResizeRequest{state_->execution_id, size});
}

Task<bool> Turn::write_input(std::string_view bytes) { return State::write_input(state_, bytes); }

Task<> Turn::end_input() { return State::end_input(state_); }

Task<ExecutionResult> run_turn(pool::Lease& lease, TurnRequest request, OnEvent on_event,
                               OnOutput on_output) {
  Turn turn(lease, std::move(request), std::move(on_event), std::move(on_output));
  co_return co_await turn.finished();
}

}  // namespace hearth::execution
