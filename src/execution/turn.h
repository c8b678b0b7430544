// execution/turn.h: one turn in a leased sandbox, and the handle that can end it early.
//
//   execution::Turn turn(lease, {.script = "print(1)"});  // or .command, .shell
//   const execution::ExecutionResult result = co_await turn.finished();
//
// or, where nothing else may want to end it: `co_await run_turn(lease, {.script = "print(1)"})`.
#pragma once

#include "execution/script_executor.h"
#include "execution/turn_request.h"
#include "pool/lease.h"

#include <memory>
#include <string>

namespace hearth::execution {

class Turn {
 public:
  // Sends nothing yet. ConfigError if the request wants more than the lease allows. `lease` must
  // outlive the handle and its tasks, and stay where it is. One turn of a lease at a time.
  Turn(pool::Lease& lease, TurnRequest request, OnEvent on_event = {});
  Turn(Turn&& other) noexcept = default;
  Turn& operator=(Turn&& other) = delete;
  // Ends the turn as kill() does, unless it is over.
  ~Turn();

  const std::string& execution_id() const;

  // Starts the turn and runs it to its end. Call it once. If this task is cancelled or dropped the
  // sandbox is killed and not reused: a script may still run in it.
  Task<ExecutionResult> finished();

  // Asks the turn to end and returns when the sandbox has been told; finished() then has the
  // verdict, most often `cancelled`. A turn that has not started never starts, its lease stays
  // usable. No effect on a turn that is over.
  Task<> cancel();

  // Ends the turn at once, with its sandbox, which is not reused. The verdict is `cancelled` unless
  // the turn ended in another way before. A turn that has not started never starts. No effect on a
  // turn that is over.
  void kill();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// `lease` must outlive the task.
Task<ExecutionResult> run_turn(pool::Lease& lease, TurnRequest request, OnEvent on_event = {});

}  // namespace hearth::execution
