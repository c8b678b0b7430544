// cli/terminal.h: whether a person is looking.
#pragma once

#include "settings/overrides.h"

namespace hearth::cli {

// Only on a terminal that can show colours, and never with NO_COLOR (no-color.org) set.
bool wants_colours(int fd, const settings::Env& env);

// As standard input and output.
bool has_terminal();

}  // namespace hearth::cli
