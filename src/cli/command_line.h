// cli/command_line.h: what is common to all commands: shorthands for them, and what is said of a
// command or option that does not exist.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

using Arguments = std::vector<std::string>;

// `x.py` becomes `run x.py`, `help run` becomes `run --help`. Without the program's own name.
Arguments without_shorthands(Arguments arguments, const CLI::App& app);

// Of a command that takes scripts: what to do about an option that is also the name of a file here,
// as `hearth run *.py` makes it of a file called `--config=b.py`. Empty if there is none.
std::string file_taken_for_option(const Arguments& arguments);

// Of `exec` with a command that does not stand behind --: how it should. Its options would be taken
// for those of hearth, without a word.
std::string command_without_dashes(const Arguments& arguments);

// After `app` met arguments that it does not expect: what the first of them may have been meant to
// be, like `no command "rn"; did you mean "run"?`.
std::string unexpected_argument(const CLI::App& app, const Arguments& arguments);

// What is wrong with the arguments of a command, which is named.
std::string bad_usage(const CLI::App& app, const std::string& what);

// For a command that is followed by another one: alone it prints its help and is bad usage. Not
// CLI11's require_subcommand(): that hides what a mistyped command was.
void require_command(CLI::App& command, int& result);

}  // namespace hearth::cli
