// settings/diagnostic.h: a problem with its place in a file, and how it is shown to a person.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::settings {

struct Diagnostic {
  std::string file{};      // or what else it is about: "environment variable HEARTH_LOG_LEVEL"
  std::size_t line = 0;    // from 1; 0: the file as a whole, or no file
  std::size_t column = 0;  // from 1, in characters
  std::string key{};
  std::string message{};
  std::string source_line{};  // empty when there is none or it must not be shown
};

struct SettingsError : Error {
  explicit SettingsError(std::vector<Diagnostic> found);
  std::vector<Diagnostic> diagnostics;  // sorted by position
};

// Like a compiler: `hearth.toml:12:3: error: ...`, then the line and a caret under the place.
std::string render(const Diagnostic& diagnostic, bool with_colours);

}  // namespace hearth::settings
