// runtime/register_settings.h: a registry with everything a configuration declares.
#pragma once

#include "registry/tool_registry.h"
#include "runtime/backends.h"
#include "settings/load.h"

namespace hearth::runtime {

// A configuration as it is meant: without a blueprint of its own it has the plain one.
// SettingsError with every problem; when there are any, tools that are missing or do not compile
// are among them.
settings::LoadedSettings load_configuration(settings::SettingsInput input,
                                            const BackendTable& backends);

// Reads and compiles the tools. OsError, ConfigError, ToolError.
registry::ToolRegistry register_settings(const settings::Settings& settings);

// The same for settings that came from a file: SettingsError with every tool that is missing or
// does not compile, and a backend that is not in the table, each at its place.
registry::ToolRegistry register_settings(const settings::LoadedSettings& loaded,
                                         const BackendTable& backends);

}  // namespace hearth::runtime
