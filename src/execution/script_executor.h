// execution/script_executor.h: one turn on one sandbox: the request out, the events in, one verdict
// at the end. Knows nothing of where the sandbox came from or where it goes afterwards.
#pragma once

#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "execution/verdict.h"
#include "wire/messages.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth::execution {

struct ExecutionResult {
  Verdict verdict = Verdict::lost;
  bool started =
      false;  // false: not one instruction of the script can have run, so a retry is safe
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  bool state_lost = false;      // interactive: the variables are gone
  bool sandbox_usable = false;  // it said `script_done` in order; otherwise it must be destroyed
  wire::Usage usage = {};
  std::string stdout_text = {};
  std::string stderr_text = {};
  std::optional<wire::JsonText> result = {};
  std::optional<wire::ScriptError> error = {};
  std::vector<wire::Intermediate> intermediates = {};
  std::vector<wire::Display> displays = {};
  std::vector<wire::Log> logs = {};
  std::uint64_t foreign_events = 0;  // of other turns, dropped
  std::string detail = {};           // for `lost`: what was seen
};

// What the executor must be able to ask of a sandbox besides talking to it.
struct SandboxControls {
  std::function<void()> kill;              // everything in it, at once
  std::function<bool()> memory_limit_hit;  // since the sandbox exists
};

struct ExecutorOptions {
  // From the script's time limit to the end of the sandbox: init must have had its chance.
  std::chrono::milliseconds host_grace{1500};
};

class ScriptExecutor {
 public:
  using OnEvent = std::function<void(const wire::Event&)>;

  // `channel` must outlive the executor.
  ScriptExecutor(SandboxChannel& channel, SandboxControls controls, ExecutorOptions options = {});

  // One at a time. `on_event` sees each event of this turn as it comes, `script_done` included.
  Task<ExecutionResult> run(wire::RunRequest request, OnEvent on_event = {});

  // Asks the running turn to end; its verdict says what became of it. Harmless when none runs.
  Task<> cancel();

 private:
  class Turn;
  static Task<> hear_overdue(Turn& turn);
  static Task<bool> hears_end(Turn& turn);

  SandboxChannel& channel_;
  SandboxControls controls_;
  ExecutorOptions options_;
  Turn* running_ = nullptr;
};

}  // namespace hearth::execution
