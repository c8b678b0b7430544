// settings/syntax_error.h: what is wrong with a text that is no TOML, in words that say what to
// write instead.
#pragma once

#include "settings/source_text.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::settings {

struct SyntaxError {
  std::size_t line = 0;  // from 1, like the column, in characters
  std::size_t column = 0;
  std::string message{};
};

// `found` is where the parser gave up and what it said. The text before that place is TOML. The
// result stands where the mistake begins, which may be an earlier line.
SyntaxError explained(const SourceText& source, SyntaxError found);

}  // namespace hearth::settings
