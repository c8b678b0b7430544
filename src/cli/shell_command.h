// cli/shell_command.h: `hearth shell`, bash on a terminal in a fresh sandbox.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `shell` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_shell_command(CLI::App& app, int& result);

}  // namespace hearth::cli
