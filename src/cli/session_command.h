// cli/session_command.h: `hearth session`.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

void add_session_command(CLI::App& app, int& result);

}  // namespace hearth::cli
