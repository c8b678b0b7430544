// cli/bench_command.h: `hearth bench`.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

void add_bench_command(CLI::App& app, int& result);

}  // namespace hearth::cli
