#include "settings/diagnostic.h"

#include "base/json_escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hearth::settings {
namespace {

constexpr std::size_t widest_excerpt = 120;
constexpr std::size_t longest_message = 1000;

std::string headline_of(const Diagnostic& diagnostic) {
  Diagnostic without_excerpt = diagnostic;
  without_excerpt.source_line.clear();
  return render(without_excerpt, false);
}

std::string summary_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text = diagnostics.empty() ? std::string() : headline_of(diagnostics.front());
  if (diagnostics.size() > 1) text += fmt::format(" (and {} more)", diagnostics.size() - 1);
  return text;
}

// The first `count` characters of a line, each as its bytes; what could upset a terminal is a
// question mark.
std::vector<std::string> characters_of(const std::string& line, std::size_t count) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < line.size() && characters.size() < count;) {
    std::size_t size = 1;
    while (at + size < line.size() && (static_cast<unsigned char>(line[at + size]) & 0xC0) == 0x80)
      ++size;
    const auto lead = static_cast<unsigned char>(line[at]);
    std::string character;
    if (lead == '\t') {
      character = " ";
    } else if (lead < 0x20 || lead == 0x7f) {
      character = "?";
    } else if (lead < 0x80) {
      character = line[at];
    } else {
      append_json_escaped(character, std::string_view(line).substr(at, size));
    }
    characters.push_back(std::move(character));
    at += size;
  }
  return characters;
}

std::string excerpt_of(const Diagnostic& diagnostic, std::string_view caret) {
  const std::vector<std::string> characters =
      characters_of(diagnostic.source_line, diagnostic.column + widest_excerpt);
  const std::size_t place =
      std::min(std::max<std::size_t>(diagnostic.column, 1) - 1, characters.size());
  const std::size_t first = place > widest_excerpt / 2 ? place - widest_excerpt / 2 : 0;
  const std::size_t last = std::min(characters.size(), first + widest_excerpt);
  std::string text;
  for (std::size_t index = first; index < last; ++index) text += characters[index];
  return fmt::format("\n{:5} | {}\n      | {:>{}}{}", diagnostic.line, text, "", place - first,
                     caret);
}

// Messages quote what stands in a file; a line of ours stays one line.
std::string single_line(std::string_view text) {
  std::string safe;
  append_json_escaped(safe, text.substr(0, longest_message));
  std::string plain;
  for (std::size_t at = 0; at < safe.size(); ++at) {
    // Quotes and backslashes were harmless before the escaping.
    if (safe[at] == '\\' && at + 1 < safe.size() && (safe[at + 1] == '"' || safe[at + 1] == '\\'))
      ++at;
    plain += safe[at];
  }
  return text.size() > longest_message ? plain + "..." : plain;
}

}  // namespace

SettingsError::SettingsError(std::vector<Diagnostic> found)
    : Error(summary_of(found)), diagnostics(std::move(found)) {}

std::string render(const Diagnostic& diagnostic, bool with_colours) {
  const auto coloured = [&](std::string_view code, std::string_view text) {
    return with_colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  };
  std::string place = single_line(diagnostic.file);
  if (diagnostic.line > 0) place += fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
  std::string text = coloured("1", place + ": ") + coloured("1;31", "error: ");
  if (!diagnostic.key.empty()) text += single_line(diagnostic.key) + ' ';
  text += single_line(diagnostic.message);
  if (!diagnostic.source_line.empty()) text += excerpt_of(diagnostic, coloured("1;32", "^"));
  return text;
}

}  // namespace hearth::settings
