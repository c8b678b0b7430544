// execution/execution_result.h: what a caller learns of a turn when it is over.
#pragma once

#include "backend/sandbox.h"
#include "execution/verdict.h"
#include "wire/messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::execution {

// So many bytes of one of the two streams, before bytes of the other came.
struct OutputRun {
  bool is_stderr = false;
  std::size_t bytes = 0;
};

struct ExecutionResult {
  Verdict verdict = Verdict::lost;
  bool started = false;  // false: no instruction of the script can have run, so a retry is safe
  std::optional<std::int64_t> exit_code = {};  // the script's own, where it has one
  std::optional<std::int64_t> signal = {};
  std::optional<std::uint64_t> pid = {};  // of a command, in its sandbox
  bool called_exit = false;               // by sys.exit()
  bool state_lost = false;                // interactive: the variables are gone
  bool sandbox_usable = false;            // false: its state is unknown, and it must be destroyed
  wire::Usage usage = {};
  std::optional<wire::Truncated> truncated = {};  // what was left out of its output
  std::string stdout_text = {};
  std::string stderr_text = {};
  std::vector<OutputRun> output_order = {};  // how the two came
  std::optional<wire::JsonText> result = {};
  std::optional<wire::ScriptError> error = {};
  std::vector<wire::Intermediate> intermediates = {};
  std::vector<wire::Display> displays = {};
  std::vector<wire::Log> logs = {};
  std::vector<std::string> degraded = {};  // limits that were not kept: `memory`, `pids`, `cpu`
  backend::Interpreter python = {};        // of the sandbox, as far as the backend knows
  std::uint64_t foreign_events = 0;        // of other turns, dropped
  std::string detail = {};                 // for `lost`: what was seen
};

}  // namespace hearth::execution
