// blueprint/config_json.h: a blueprint as JSON text, out and in without loss.
#pragma once

#include "blueprint/sandbox_config.h"

#include <string>
#include <string_view>

namespace hearth::blueprint {

std::string to_json(const SandboxConfig& config);

// JsonError when it is no JSON; ConfigError with every unknown key, wrong type and bad value. The
// result is `validated`.
SandboxConfig sandbox_config_from_json(std::string_view text);

}  // namespace hearth::blueprint
