// blueprint/python_names.h: names that mean something to Python or to a process's environment.
#pragma once

#include <string_view>

namespace hearth::blueprint {

// ASCII only: tools become file names. A keyword is not an identifier.
bool is_python_identifier(std::string_view text);

// Identifiers joined by dots: `os.path`.
bool is_module_name(std::string_view text);

bool is_environment_name(std::string_view text);

// Names a secret must not have, because the runtime sets them or because they change what runs.
bool is_owned_by_runtime(std::string_view environment_name);

}  // namespace hearth::blueprint
