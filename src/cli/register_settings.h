// cli/register_settings.h: a registry with everything a configuration declares.
#pragma once

#include "registry/tool_registry.h"
#include "settings/load.h"

namespace hearth::cli {

// Reads and compiles the tools. SettingsError with every file that is missing (at its place in the
// configuration) and every tool that does not compile (at its place in the tool).
registry::ToolRegistry register_settings(const settings::LoadedSettings& loaded);

}  // namespace hearth::cli
