#include "execution/turn.h"

#include "base/log.h"

#include <cassert>
#include <utility>

namespace hearth::execution {

// Shared by the handle and its tasks, so that each may end first.
struct Turn::State {
  enum class Phase { waiting, running, over };
  class Running;

  State(pool::Lease& leased, WireRequest built, OnEvent listener)
      : lease(leased),
        executor(leased.sandbox()),
        execution_id(std::visit([](const auto& one) { return one.execution_id; }, built)),
        request(std::move(built)),
        on_event(std::move(listener)) {}

  static Task<ExecutionResult> run(std::shared_ptr<State> turn);
  static Task<> cancel(std::shared_ptr<State> turn);
  void kill();

  pool::Lease& lease;
  ScriptExecutor executor;
  std::string execution_id;
  WireRequest request;
  OnEvent on_event;
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
  explicit Running(State& turn) : turn_(turn) { turn_.phase = Phase::running; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    turn_.phase = Phase::over;
    if (!leaves_sandbox_usable_) condemn_and_kill(turn_.lease);
  }
  void leaves_sandbox_usable() { leaves_sandbox_usable_ = true; }

 private:
  State& turn_;
  bool leaves_sandbox_usable_ = false;
};

Task<ExecutionResult> Turn::State::run(std::shared_ptr<State> turn) {
  assert(turn->phase == Phase::waiting);
  if (turn->was_cancelled) {
    turn->phase = Phase::over;
    co_return ExecutionResult{.verdict = Verdict::cancelled, .sandbox_usable = true};
  }
  Running running(*turn);
  ExecutionResult result =
      co_await turn->executor.run(std::move(turn->request), std::move(turn->on_event));
  if (turn->was_killed) {
    result.sandbox_usable = false;
    if (result.verdict == Verdict::lost) result.verdict = Verdict::cancelled;
  }
  if (std::holds_alternative<wire::RunRequest>(turn->request))
    result.python = turn->lease.sandbox().python();
  result.degraded = turn->lease.sandbox().degraded();
  if (result.sandbox_usable) running.leaves_sandbox_usable();
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

Turn::Turn(pool::Lease& lease, TurnRequest request, OnEvent on_event)
    : state_(std::make_shared<State>(lease, wire_request(lease.binding(), std::move(request)),
                                     std::move(on_event))) {}

Turn::~Turn() {
  if (state_) state_->kill();
}

const std::string& Turn::execution_id() const { return state_->execution_id; }

Task<ExecutionResult> Turn::finished() { return State::run(state_); }

Task<> Turn::cancel() { return State::cancel(state_); }

void Turn::kill() { state_->kill(); }

Task<ExecutionResult> run_turn(pool::Lease& lease, TurnRequest request, OnEvent on_event) {
  Turn turn(lease, std::move(request), std::move(on_event));
  co_return co_await turn.finished();
}

}  // namespace hearth::execution
