// settings/print_toml.h: settings as a hearth.toml that loads to the same settings.
#pragma once

#include "settings/overrides.h"
#include "settings/settings.h"

#include <boost/json/value.hpp>

#include <map>
#include <string>

namespace hearth::settings {

// Every key with its effective value; secrets as their sources. The same tree as JSON and TOML.
boost::json::value to_tree(const Settings& settings);

// `comments` by path (`log.level`, `sandbox[0]`) stand behind a key, or above a table.
std::string print_toml(const Settings& settings,
                       const std::map<std::string, std::string>& comments);

}  // namespace hearth::settings
