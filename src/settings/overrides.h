// settings/overrides.h: keys of hearth.toml that come from the environment or the command line.
#pragma once

#include "blueprint/problem.h"

#include <boost/json/value.hpp>

#include <map>
#include <string>
#include <vector>

namespace hearth::settings {

using Env = std::map<std::string, std::string>;

// One `--set section.key=value`.
struct CommandLineSetting {
  std::string key{};
  std::string value{};
};

// What was overridden: `log.level` by "HEARTH_LOG_LEVEL" or "--set log.level".
using Origins = std::map<std::string, std::string>;

// A key that can be overridden, and the environment variable that does it.
struct OverridableKey {
  std::string section{};
  std::string key{};
  enum class Kind { text, integer, boolean, list } kind = Kind::text;
  std::string variable{};

  std::string path() const { return section + '.' + key; }
};

const std::vector<OverridableKey>& overridable_keys();

struct OverrideResult {
  Origins origins{};
  std::vector<std::string> warnings{};  // variables that look like a setting and are none
  // `field` is the variable or option itself: there is no place in a file.
  blueprint::Problems problems{};
};

// Puts the values into `tree`: the command line's over the environment's over the file's.
OverrideResult apply_overrides(boost::json::object& tree, const Env& env,
                               const std::vector<CommandLineSetting>& command_line);

// This process's environment.
Env current_env();

}  // namespace hearth::settings
