// api/plain_text.h: what a terminal would show of a program's output, as text without control
// sequences: colours and cursor movements removed, of a rewritten line its last state.
#pragma once

#include <string>
#include <string_view>

namespace hearth::api {

std::string plain_text(std::string_view output);

// The name of a file that a script chose, on one line: control characters as \x1b, bytes that are
// not UTF-8 as U+FFFD.
std::string shown_name(std::string_view name);

}  // namespace hearth::api
