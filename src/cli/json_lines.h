// cli/json_lines.h: JSON as people and programs read it.
#pragma once

#include "execution/execution_result.h"

#include <string>
#include <string_view>

namespace hearth::cli {

// Valid JSON without blanks, indented; short lists and objects stay on one line. Numbers keep all
// their digits.
std::string pretty_json(std::string_view json);

// The last line of `hearth run --json`.
std::string verdict_line(const execution::ExecutionResult& result, std::string_view file);

}  // namespace hearth::cli
