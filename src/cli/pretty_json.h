// cli/pretty_json.h: JSON as people read it.
#pragma once

#include <string>
#include <string_view>

namespace hearth::cli {

// Valid JSON without blanks, indented; short lists and objects stay on one line. Numbers keep all
// their digits.
std::string pretty_json(std::string_view json);

}  // namespace hearth::cli
