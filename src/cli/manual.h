// cli/manual.h: the manual page, in the language of man.
#pragma once

#include "cli/command_table.h"

#include <string>

namespace hearth::cli {

// `version`: like `hearth 1.2.3`.
std::string manual_page(const CommandTable& table, const std::string& version);

}  // namespace hearth::cli
