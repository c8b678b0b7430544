// cli/run_command.h: `hearth run`.
#pragma once

#include "cli/run_plan.h"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `run` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_run_command(CLI::App& app, int& result);

// A script of Hearth's own, in a sandbox like those of all scripts but with empty secrets. Returns
// the exit code.
int run_own_script(RunOptions options, const std::string& script);

}  // namespace hearth::cli
