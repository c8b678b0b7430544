// cli/run_output.h: how a turn is shown to its caller.
#pragma once

#include "api/execution.h"
#include "execution/execution_result.h"
#include "wire/messages.h"

#include <iosfwd>
#include <memory>
#include <string>

namespace hearth::cli {

class RunOutput {
 public:
  virtual ~RunOutput() = default;
  virtual void started(const api::Execution& execution) = 0;
  virtual void event(const wire::Event& event) = 0;
  virtual void ended(const execution::ExecutionResult& result, const api::Execution& execution) = 0;
};

// One JSON object a line: start, events, and the result as the end.
std::unique_ptr<RunOutput> event_output(std::ostream& out);
// The result alone.
std::unique_ptr<RunOutput> result_output(std::ostream& out);

// The script's own output where it belongs, results on stdout, everything about the run on stderr.
struct HumanOutputOptions {
  bool with_colours = false;  // on stderr
  bool quiet = false;         // no summary
  bool in_steps = false;      // which share their variables
  bool on_terminal = false;   // a program that had one: an end of its own needs no words
};
std::unique_ptr<RunOutput> human_output(std::ostream& out, std::ostream& errors,
                                        HumanOutputOptions options);

// What follows the verdict: " in 21 ms, 12 ms of CPU, 14.2 MB (degraded: memory, pids, cpu)",
// " with exit code 3 in 1 ms, ..."
std::string summary_of(const execution::ExecutionResult& result);

int exit_code_of(const execution::ExecutionResult& result);
// The same, but the command's own exit code where it has one.
int exit_code_of_command(const execution::ExecutionResult& result);

}  // namespace hearth::cli
