// cli/shared_options.h: what several commands take from the command line.
#pragma once

#include "cli/run_plan.h"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// --backend, a name of the table of backends.
void add_backend_option(CLI::App& command, RunOptions& options);

// A script named on the command line; - is standard input.
std::string read_script(const std::string& file);

}  // namespace hearth::cli
