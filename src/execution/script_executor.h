// execution/script_executor.h: one turn, a script or a command, on one sandbox: the request out,
// the events in, one verdict at the end. Does not know where the sandbox came from or where it goes
// afterwards.
#pragma once

#include "async/mutex.h"
#include "async/task.h"
#include "backend/sandbox.h"
#include "execution/command_streams.h"
#include "execution/execution_result.h"
#include "execution/turn_request.h"
#include "wire/messages.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace hearth::execution {

// Called for each event of a turn as it arrives, `script_done` included. On the loop.
using OnEvent = std::function<void(const wire::Event&)>;

struct ExecutorOptions {
  // From the script's time limit to the kill of the sandbox: init must have had its chance.
  std::chrono::milliseconds host_grace{1500};
  // Of secrets that have no value: where they were looked for. Init, which refuses the turn, cannot
  // say it.
  std::map<std::string, std::string> places_of_secrets{};
};

class ScriptExecutor {
 public:
  // `sandbox` must outlive the executor, and the executor its tasks.
  explicit ScriptExecutor(backend::Sandbox& sandbox, ExecutorOptions options = {});

  // One at a time. Whatever ends it without the sandbox's own `script_done` kills the sandbox; so
  // does a cancellation of this task, unless the request is a command's: then the command is
  // cancelled, and the sandbox goes on. `io` is for commands alone.
  Task<ExecutionResult> run(WireRequest request, OnEvent on_event = {}, CommandIo io = {});

  // Asks the running turn to end, and returns when the sandbox has been told. The turn's verdict
  // says what became of it. No effect when no turn runs.
  Task<> cancel();

  // To the standard input of the running command, if it was left open: see CommandStreams.
  Task<bool> write_input(std::string_view bytes);
  Task<> end_input();

 private:
  class Exchange;
  static Task<> converse(Exchange& exchange, std::chrono::nanoseconds limit);
  static Task<> hear_overdue(Exchange& exchange);
  static Task<bool> hears_end(Exchange& exchange);
  Task<> cancel_sent();

  backend::Sandbox& sandbox_;
  ExecutorOptions options_;
  Exchange* running_ = nullptr;
  Mutex writing_;  // held while a request is sent
};

}  // namespace hearth::execution
