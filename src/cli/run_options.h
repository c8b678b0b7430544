// cli/run_options.h: the options of `hearth run`, and those that it shares with `exec` and `shell`.
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

// What a sandbox of one's own takes: which, its limits, what goes in and comes out. `what_runs`
// reads like "each script". `raw` must outlive the command.
void add_sandbox_options(CLI::App& command, RawRunOptions& raw, const std::string& what_runs);
// Of a command. `directory` must outlive it, as below.
void add_cwd_option(CLI::App& command, std::string& directory);
// `more` is said behind what it does.
void add_json_option(CLI::App& command, RawRunOptions& raw, const std::string& more = {});
// CLI::ValidationError.
RunOptions checked_sandbox(const RawRunOptions& raw);

// `raw` must outlive the command.
void add_run_options(CLI::App& command, RawRunOptions& raw);

// How the caller wants to be answered; known before anything can be wrong with the other options.
JsonAnswers json_answers_of(const RawRunOptions& raw);

// CLI::ValidationError, CLI::RequiredError.
RunOptions checked(const RawRunOptions& raw);

}  // namespace hearth::cli
