// builder/installed_modules.h: which modules an interpreter has without packages of a blueprint.
#pragma once

#include "builder/find_python.h"

#include <string>
#include <vector>

namespace hearth::builder {

// Those of `modules` (dotted names, looked up by their first part) that `python` does not have.
// Executes no module and no .pth file, so what only a .pth file adds counts as missing. Empty if
// the interpreter does not answer.
std::vector<std::string> missing_modules(const Python& python,
                                         const std::vector<std::string>& modules);

}  // namespace hearth::builder
