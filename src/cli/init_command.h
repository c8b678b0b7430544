// cli/init_command.h: `hearth init`: a configuration to start with.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

void add_init_command(CLI::App& app, int& result);

// Writes hearth.toml and tools/example.py into `directory`, which is made if it is not there, and
// says so to `out`. Nothing is replaced: Error names what is there already. OsError with a path.
void write_starter(const std::filesystem::path& directory, std::ostream& out);

}  // namespace hearth::cli
