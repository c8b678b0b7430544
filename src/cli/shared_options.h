// cli/shared_options.h: what several commands take from the command line.
#pragma once

#include "cli/run_plan.h"

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// --backend, a name of the table of backends.
void add_backend_option(CLI::App& command, RunOptions& options);

// --env, --mount and --tool: what a script gets beside its blueprint. As they were written.
struct RawScriptOptions {
  std::vector<std::string> env{};
  std::vector<std::string> mounts{};
  std::vector<std::string> tools{};
};
// `raw` must outlive `command`.
void add_surroundings_options(CLI::App& command, RawScriptOptions& raw);  // without --tool
void add_tool_option(CLI::App& command, RawScriptOptions& raw);
void add_script_options(CLI::App& command, RawScriptOptions& raw);
// CLI::ValidationError.
void apply(const RawScriptOptions& raw, RunOptions& options);

// --python, a version or a path.
void add_python_option(CLI::App& command, RunOptions& options);

// --set section.key=value. `overrides` must outlive `command`.
void add_set_option(CLI::App& command, std::vector<settings::CommandLineSetting>& overrides);

// A script named on the command line; - is standard input. Error if it is not UTF-8.
std::string read_script(const std::string& file);

}  // namespace hearth::cli
