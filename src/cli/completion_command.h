// cli/completion_command.h: `hearth completion` and `hearth man`: what a shell and man(1) know of
// the command line.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Of all commands of `app`, also those that are added later.
void add_completion_commands(CLI::App& app);

}  // namespace hearth::cli
