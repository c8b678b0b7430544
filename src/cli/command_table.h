// cli/command_table.h: every command with its options and arguments as plain values, taken from the
// parser itself: completion and the manual page cannot say anything else than --help.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

struct CommandOption {
  std::vector<std::string> names{};    // `-c`, `--config`
  std::string value{};                 // what follows, like `FILE`; empty: a flag
  std::vector<std::string> choices{};  // the values there are; of a flag, what may follow a `=`
  std::string text{};

  bool takes_file() const;
};

struct CommandArgument {
  std::string name{};
  std::string text{};
  bool is_required = false;
  bool may_repeat = false;
};

struct CommandTable {
  std::string words{};  // `hearth`, `hearth session new`
  std::string text{};
  std::string details{};  // what its help says at the end
  std::vector<CommandOption> options{};
  std::vector<CommandArgument> arguments{};
  std::vector<CommandTable> commands{};

  std::string name() const;  // the last word
};

CommandTable command_table(const CLI::App& app);

// The command itself, those below it, and so on, each before what is below it.
std::vector<const CommandTable*> all_commands(const CommandTable& table);

}  // namespace hearth::cli
