#include "settings/diagnostic.h"

#include "base/json_escape.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::settings {
namespace {

constexpr std::size_t longest_message = 1000;

std::string summary_of(const std::vector<Diagnostic>& diagnostics, std::size_t left_out) {
  if (diagnostics.empty()) return {};
  Diagnostic headline = diagnostics.front();
  headline.excerpt = {};
  const std::size_t more = diagnostics.size() - 1 + left_out;
  return render(headline, false) + (more > 0 ? fmt::format(" (and {} more)", more) : "");
}

// Controls of terminals (C0, DEL, C1), ends of lines, and marks that reverse the direction of text,
// which would make a line look like another one. `character` is UTF-8.
bool is_deceptive(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (lead < 0x20 || lead == 0x7f) return true;
  const bool is_c1 = lead == 0xc2 && character <= "\u009f";
  const bool is_mark = character == "\u061c" || character == "\u200e" || character == "\u200f";
  const bool is_separator_or_override = character >= "\u2028" && character <= "\u202e";
  const bool is_isolate = character >= "\u2066" && character <= "\u2069";
  return is_c1 || is_mark || is_separator_or_override || is_isolate;
}

// A question mark stands for each character that deceives and for what is no UTF-8.
std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_size(text));
    text.remove_prefix(character.size());
    if (character == "\t") {
      shown += ' ';
    } else {
      shown += is_utf8(character) && !is_deceptive(character) ? character : "?";
    }
  }
  return shown;
}

std::string lines_of(const Excerpt& excerpt, std::size_t line, std::string_view caret) {
  return fmt::format("\n{:5} | {}\n      | {:>{}}{}", line, printable(excerpt.text), "",
                     excerpt.column - 1, caret);
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
  plain = printable(plain);
  return text.size() > longest_message ? plain + "..." : plain;
}

}  // namespace

SettingsError::SettingsError(std::vector<Diagnostic> found, std::size_t more)
    : Error(summary_of(found, more)), diagnostics(std::move(found)), left_out(more) {
  if (diagnostics.size() <= most_diagnostics) return;
  left_out += diagnostics.size() - most_diagnostics;
  diagnostics.resize(most_diagnostics);
}

std::string render(const Diagnostic& diagnostic, bool with_colours) {
  const auto coloured = [&](std::string_view code, std::string_view text) {
    return with_colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  };
  std::string place = single_line(diagnostic.file);
  if (diagnostic.line > 0) place += fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
  std::string text =
      coloured("1", place + ": ") +
      (diagnostic.is_warning ? coloured("1;35", "warning: ") : coloured("1;31", "error: "));
  if (!diagnostic.key.empty()) text += single_line(diagnostic.key) + ' ';
  text += single_line(diagnostic.message);
  if (!diagnostic.excerpt.text.empty())
    text += lines_of(diagnostic.excerpt, diagnostic.line, coloured("1;32", "^"));
  return text;
}

std::string render(const SettingsError& error, bool with_colours) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics)
    text += render(diagnostic, with_colours) + '\n';
  if (error.left_out > 0) text += fmt::format("... and {} more\n", error.left_out);
  return text;
}

}  // namespace hearth::settings
