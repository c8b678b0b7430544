// cli/completion.h: scripts that teach a shell what can follow `hearth`.
#pragma once

#include "cli/command_table.h"

#include <string>

namespace hearth::cli {

// Each completes commands, options, values of options that have a list of them, and files.
std::string bash_completion(const CommandTable& table);
std::string zsh_completion(const CommandTable& table);
std::string fish_completion(const CommandTable& table);

}  // namespace hearth::cli
