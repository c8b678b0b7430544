// cli/exec_command.h: `hearth exec`, a command in a fresh sandbox.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `exec` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_exec_command(CLI::App& app, int& result);

}  // namespace hearth::cli
