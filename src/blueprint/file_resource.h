// blueprint/file_resource.h: paths of mounts in one spelling.
#pragma once

#include "blueprint/sandbox_config.h"

#include <string>
#include <string_view>

namespace hearth::blueprint {

// Without doubled slashes and without one at the end.
std::string canonical_path(std::string_view path);

}  // namespace hearth::blueprint
