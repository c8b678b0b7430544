// base/printable.h: text of a sandbox, a file name or another program as it may stand on a
// terminal.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Control characters, those beyond ASCII included, and bytes that are no UTF-8 become \xNN: a
// terminal obeys some of them. Tabs and the ends of lines stay.
std::string printable(std::string_view text);
// The same on one line: also they become \xNN.
std::string printable_line(std::string_view text);

}  // namespace hearth
