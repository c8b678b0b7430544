// cli/run_options.h: the options of `hearth run`.
#pragma once

#include "cli/run_plan.h"
#include "cli/shared_options.h"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// As they were written.
struct RawRunOptions {
  RunOptions options;
  std::string config;
  std::string json;
  std::string memory;
  std::string timeout;
  RawScriptOptions script;
  RawTransferOptions transfers;
};

// `raw` must outlive the command.
void add_run_options(CLI::App& command, RawRunOptions& raw);

// How the caller wants to be answered; known before anything can be wrong with the other options.
JsonAnswers json_answers_of(const RawRunOptions& raw);

// CLI::ValidationError, CLI::RequiredError.
RunOptions checked(const RawRunOptions& raw);

}  // namespace hearth::cli
