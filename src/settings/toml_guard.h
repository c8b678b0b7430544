// settings/toml_guard.h: a look at a TOML text before toml++ gets it. toml++ bounds brackets but
// not dotted keys, and frees its tables recursively: `a.a.a.…` of a megabyte would overflow the
// stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::settings {

struct TooDeep {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message{};
};

// The first place with more nesting than any configuration has.
std::optional<TooDeep> find_excessive_nesting(std::string_view text);

}  // namespace hearth::settings
