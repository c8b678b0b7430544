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

}  // namespace

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

std::string SourceText::showable_line(std::size_t number) const {
  if (number == 0 || number > lines_.size() || lines_[number - 1].hidden) return {};
  return text_.substr(lines_[number - 1].begin, lines_[number - 1].size);
}

}  // namespace hearth::settings
