// cli/tools_command.h: `hearth tools`: what scripts of a blueprint may call.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

void add_tools_command(CLI::App& app, int& result);

}  // namespace hearth::cli
