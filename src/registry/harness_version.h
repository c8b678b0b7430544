// registry/harness_version.h: raised whenever the harness changes in a way that an environment
// built with the older one would not have. Part of every environment's checksum.
#pragma once

#include <string_view>

namespace hearth::registry {

inline constexpr std::string_view harness_version = "2";

}  // namespace hearth::registry
