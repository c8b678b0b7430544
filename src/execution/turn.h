// execution/turn.h: one turn in a leased sandbox, and the handle that can end it early.
//
//   execution::Turn turn(lease, {.script = "print(1)"});  // or .command, .shell
//   const execution::ExecutionResult result = co_await turn.finished();
//
// or, where nothing else may want to end it: `co_await run_turn(lease, {.script = "print(1)"})`.
//
// A lease runs one script in Python at a time. Commands, and scripts in other languages, run beside
// it and beside each other, each as a turn of its own.
#pragma once

#include "execution/script_executor.h"
#include "execution/turn_request.h"
#include "pool/lease.h"

#include <memory>
#include <string>
#include <string_view>

namespace hearth::execution {

class Turn {
 public:
  // Sends nothing yet. ConfigError if the request wants more than the lease allows. `lease` must
  // outlive the handle and its tasks, and stay where it is. With `on_output` the output of a
  // command comes there, byte by byte as it is and at the pace of its reader, in place of events.
  // Then the output limit is for it only if the request names one.
  Turn(pool::Lease& lease, TurnRequest request, OnEvent on_event = {}, OnOutput on_output = {});
  Turn(Turn&& other) noexcept = default;
  Turn& operator=(Turn&& other) = delete;
  // Ends the turn, unless it is over: a command as cancel() does, anything else as kill() does.
  ~Turn();

  const std::string& execution_id() const;

  // Starts the turn and runs it to its end. Call it once. If this task is cancelled or dropped the
  // sandbox is killed and not reused: a script may still run in it. A command is cancelled, and
  // its sandbox goes on.
  Task<ExecutionResult> finished();

  // Asks the turn to end and returns when the sandbox has been told; finished() then has the
  // verdict, most often `cancelled`. A turn that has not started never starts, its lease stays
  // usable. No effect on a turn that is over.
  Task<> cancel();

  // Ends the turn at once, with its sandbox, which is not reused. The verdict is `cancelled` unless
  // the turn ended in another way before. A turn that has not started never starts. No effect on a
  // turn that is over.
  void kill();

  // For a command that runs: after its event `started`, or in it. No effect on anything else.
  // The signal is named as in `kill -l`: INT, TERM, KILL; for its process group, or for all its
  // processes.
  void signal(std::string name, bool all_processes = false);
  void resize(wire::TerminalSize size);
  // Returns when the sandbox has taken the bytes, which must outlive the task. False if the command
  // reads no more, or has no input that was left open.
  Task<bool> write_input(std::string_view bytes);
  // Closes its standard input. On a terminal it is what Ctrl-D is.
  Task<> end_input();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// `lease` must outlive the task.
Task<ExecutionResult> run_turn(pool::Lease& lease, TurnRequest request, OnEvent on_event = {},
                               OnOutput on_output = {});

}  // namespace hearth::execution
