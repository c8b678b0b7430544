#include "base/printable.h"

#include "base/json_escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace hearth {
namespace {

constexpr std::size_t longest_character = 4;

// 0 if it does not begin with a whole one.
std::size_t size_of_first_character(std::string_view text) {
  for (std::size_t size = 1; size <= std::min(text.size(), longest_character); ++size)
    if (is_utf8(text.substr(0, size))) return size;
  return 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  constexpr unsigned char lead_of_c1 = 0xc2;
  return first == lead_of_c1 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string escaped(std::string_view text, std::string_view allowed) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = size_of_first_character(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    const bool is_allowed = allowed.find(character[0]) != std::string_view::npos;
    if (is_allowed || (size > 0 && !is_control(character))) {
      shown += character;
    } else {
      for (const char byte : character)
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, "\n\t"); }
std::string printable_line(std::string_view text) { return escaped(text, {}); }

}  // namespace hearth
