// cli/run_output.h: how a turn is shown to its caller.
#pragma once

#include "execution/execution_result.h"
#include "wire/messages.h"

#include <iosfwd>
#include <memory>
#include <string>

namespace hearth::cli {

class RunOutput {
 public:
  virtual ~RunOutput() = default;
  virtual void event(const wire::Event& event) = 0;
  virtual void verdict(const execution::ExecutionResult& result, const std::string& file) = 0;
};

// One JSON object a line, the last one the verdict.
std::unique_ptr<RunOutput> json_output(std::ostream& out);

// The script's own output where it belongs, results on stdout, everything about the run on stderr.
struct HumanOutputOptions {
  bool with_colours = false;  // on stderr
  bool quiet = false;         // no summary
  bool in_steps = false;      // which share their variables
};
std::unique_ptr<RunOutput> human_output(std::ostream& out, std::ostream& errors,
                                        HumanOutputOptions options);

// "ok in 21 ms, 12 ms of CPU, 14.2 MB (degraded: memory, pids, cpu)"
std::string summary_of(const execution::ExecutionResult& result);

int exit_code_of(const execution::ExecutionResult& result);

}  // namespace hearth::cli
