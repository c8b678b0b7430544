// cli/missing_module.h: modules that a script imports and that were left beside it on this machine.
#pragma once

#include "execution/execution_result.h"

#include <string>

namespace hearth::cli {

// What copies the module into the sandbox, if that is what `result` lacks: a file or a package in
// the directory of `file`, the script (- is standard input). Else empty.
std::string advice_on_missing_module(const execution::ExecutionResult& result,
                                     const std::string& file);

}  // namespace hearth::cli
