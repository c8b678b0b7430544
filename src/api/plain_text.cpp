#include "api/plain_text.h"

#include "base/json_escape.h"

#include <fmt/format.h>

#include <cstddef>

namespace hearth::api {
namespace {

constexpr char escape = '\x1b';
constexpr char bell = '\x07';

bool is_between(char byte, char first, char last) { return byte >= first && byte <= last; }

// ECMA-48: parameters, intermediates, and one final byte. What is none of them is the text's.
std::size_t control_sequence_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_between(text[at], 0x30, 0x3f)) ++at;
  while (at < text.size() && is_between(text[at], 0x20, 0x2f)) ++at;
  return at < text.size() && is_between(text[at], 0x40, 0x7e) ? at + 1 : at;
}

// A title, a link: up to BEL or ESC \. One that does not end must not hide the lines that follow.
std::size_t control_string_end(std::string_view text, std::size_t at) {
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == bell) return at + 1;
    if (text[at] == escape) return at + (text.substr(at + 1).starts_with('\\') ? 2 : 0);
  }
  return at;
}

// Where the sequence that begins with the escape at `at` ends.
std::size_t escape_end(std::string_view text, std::size_t at) {
  ++at;
  if (at == text.size()) return at;
  const char kind = text[at];
  if (kind == '[') return control_sequence_end(text, at + 1);
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_')
    return control_string_end(text, at + 1);
  while (at < text.size() && is_between(text[at], 0x20, 0x2f)) ++at;
  return at < text.size() && is_between(text[at], 0x30, 0x7e) ? at + 1 : at;
}

}  // namespace

std::string plain_text(std::string_view output) {
  std::string text;
  text.reserve(output.size());
  std::size_t line = 0;  // where the current one begins in `text`
  bool starts_over = false;
  for (std::size_t at = 0; at < output.size();) {
    const char byte = output[at];
    if (byte == escape) {
      at = escape_end(output, at);
      continue;
    }
    ++at;
    if (byte == '\r') {
      starts_over = true;  // shown until something is written over it
    } else if (byte == '\n') {
      text += byte;
      line = text.size();
      starts_over = false;
    } else {
      if (starts_over) text.resize(line);
      starts_over = false;
      text += byte;
    }
  }
  return text;
}

std::string shown_name(std::string_view name) {
  std::string shown;
  while (!name.empty()) {
    const auto first = static_cast<unsigned char>(name.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const std::string_view character = name.substr(0, size);
    if (!is_utf8(character)) {
      shown += "\uFFFD";
      name.remove_prefix(1);
      continue;
    }
    const bool is_second_control_set = first == 0xc2 && is_between(character[1], '\x80', '\x9f');
    if (first < 0x20 || first == 0x7f || is_second_control_set)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(character.back()));
    else
      shown += character;
    name.remove_prefix(size);
  }
  return shown;
}

}  // namespace hearth::api
