#include "settings/source_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hearth::settings {
namespace {

// What a line begins with, without blanks, brackets and quotes: the table or key it is about.
bool is_about_secrets(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t[\"'");
  return start != std::string_view::npos && line.substr(start).starts_with("secrets");
}

bool is_table_header(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  return start != std::string_view::npos && line[start] == '[';
}

constexpr std::size_t widest_excerpt = 120;

// Removes up to `count` characters from the front and returns how many there were.
std::size_t skip_characters(std::string_view& text, std::size_t count) {
  std::size_t skipped = 0;
  for (; skipped < count && !text.empty(); ++skipped) text.remove_prefix(character_size(text));
  return skipped;
}

}  // namespace

std::size_t character_size(std::string_view text) {
  constexpr std::size_t longest_character = 4;
  std::size_t size = 1;
  while (size < std::min(text.size(), longest_character) &&
         (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    ++size;
  return size;
}

SourceText::SourceText(std::string text) : text_(std::move(text)) {
  // Before the first table, a key says the same as a header: secrets.KEY = "...".
  bool top_level = true;
  bool in_secrets = false;
  for (std::size_t begin = 0; begin <= text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (is_table_header(line)) {
      top_level = false;
      in_secrets = is_about_secrets(line);
    }
    const bool hidden = in_secrets || (top_level && is_about_secrets(line));
    lines_.push_back({begin, line.size() - (line.ends_with('\r') ? 1 : 0), hidden});
    begin = end + 1;
  }
}

Excerpt SourceText::excerpt(std::size_t number, std::size_t column) const {
  if (number == 0 || number > lines_.size() || lines_[number - 1].hidden) return {};
  const Line& line = lines_[number - 1];
  std::string_view rest = std::string_view(text_).substr(line.begin, line.size);
  std::string_view after = rest;
  const std::size_t before = skip_characters(after, std::max<std::size_t>(column, 1) - 1);
  const std::size_t left_out = skip_characters(rest, before - std::min(before, widest_excerpt / 2));
  after = rest;
  skip_characters(after, widest_excerpt);
  return {.text = std::string(rest.substr(0, rest.size() - after.size())),
          .column = before - left_out + 1};
}

}  // namespace hearth::settings
