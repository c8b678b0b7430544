// settings/load.h: from a file's text, the environment and the command line to Settings. The pure
// part takes all of them as values; nothing here opens a tool's file or a secret.
#pragma once

#include "settings/diagnostic.h"
#include "settings/overrides.h"
#include "settings/settings.h"
#include "settings/toml_document.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::settings {

struct LoadedSettings;

struct SettingsInput {
  std::filesystem::path file{};  // relative paths in the text are relative to its folder
  std::string text{};
  Env env{};
  std::vector<CommandLineSetting> command_line{};
  bool was_named = true;  // false: found in the current directory, see found_configuration.h
  // The one blueprint of a file that declares none; without: it has none.
  std::function<blueprint::SandboxConfig(const Settings&)> plain_blueprint{};
  // What is wrong outside of the text, like a tool that does not compile: asked only when the text
  // has problems, to report them together.
  std::function<std::vector<Diagnostic>(const LoadedSettings&)> further_problems{};
};

struct LoadedSettings {
  Settings settings{};
  Origins origins{};  // of what did not come from the file
  std::vector<std::string> warnings{};
  std::string file{};
  std::shared_ptr<const TomlDocument> document{};

  // For what is found out later, like a tool's file that is not there.
  Diagnostic diagnostic_for(const blueprint::Problem& problem) const;
};

// SettingsError with every problem, sorted by position, as far as it holds them.
LoadedSettings load_settings(SettingsInput input);

// The largest hearth.toml that is read, and the largest that was only found: parsing takes a
// hundred times that much memory.
inline constexpr std::size_t most_settings_bytes = 16'777'216;
inline constexpr std::size_t most_found_settings_bytes = 1'048'576;

struct SettingsFile {
  std::filesystem::path path{};
  bool was_named = true;  // or is the machine's; false: it stands in the current directory
};

// The file that was named, else $HEARTH_CONFIG, ./hearth.toml or /etc/hearth/hearth.toml: the first
// that exists (a named one need not). Error, listing where it looked, when there is none.
SettingsFile find_settings_file(const std::optional<std::filesystem::path>& named, const Env& env);

// Reads the file; OsError when it cannot, os::UntrustedPath when another user could have written
// it.
SettingsInput read_settings_input(const SettingsFile& file, Env env,
                                  std::vector<CommandLineSetting> command_line);

}  // namespace hearth::settings
