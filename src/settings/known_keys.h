// settings/known_keys.h: every key of hearth.toml and the section it belongs into, for messages
// about keys that are in the wrong place.
#pragma once

#include <string>
#include <vector>

namespace hearth::settings {

struct KnownKey {
  std::string section{};       // like `blueprint.resource_limits`, without indices
  std::string key{};           // empty for the section itself
  bool is_list = false;        // of the section: it is written with two brackets
  std::string header() const;  // `[blueprint.resource_limits]`, `[[blueprint]]`
};

// In the order of hearth.example.toml.
const std::vector<KnownKey>& known_keys();

// The header of a section by its path, like `[[tool]]`; empty when there is none.
std::string header_of(const std::string& section);

}  // namespace hearth::settings
