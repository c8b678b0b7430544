// settings/diagnostic.h: a problem with its place in a file, and how it is shown to a person.
#pragma once

#include "base/error.h"
#include "settings/source_text.h"

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
  Excerpt excerpt{};
  bool is_warning = false;  // nothing is wrong with the file itself
};

// A file can hold more problems than a person reads and than fit into memory with their excerpts.
inline constexpr std::size_t most_diagnostics = 100;

struct SettingsError : Error {
  // `found` is sorted by position; `left_out` problems were not even made diagnostics.
  explicit SettingsError(std::vector<Diagnostic> found, std::size_t left_out = 0);
  std::vector<Diagnostic> diagnostics;  // sorted by position, at most `most_diagnostics`
  std::size_t left_out;                 // how many there were beyond these
};

// Like a compiler: `hearth.toml:12:3: error: ...`, then the line and a caret under the place.
std::string render(const Diagnostic& diagnostic, bool with_colours);
// All of them, a line or two each, and how many were left out.
std::string render(const SettingsError& error, bool with_colours);

}  // namespace hearth::settings
