// cli/run_command.h: `hearth run`.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `run` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_run_command(CLI::App& app, int& result);

}  // namespace hearth::cli
