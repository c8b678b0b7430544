#include "base/json_escape.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace hearth {
namespace {

constexpr std::uint64_t every_byte(std::uint8_t value) { return value * 0x0101010101010101ULL; }

// Nonzero if one of the eight bytes needs a look: a control character, '"', '\\' or not ASCII.
constexpr std::uint64_t special_bytes(std::uint64_t word) {
  const std::uint64_t high = every_byte(0x80);
  const std::uint64_t control = word - every_byte(0x20);
  const std::uint64_t quote = (word ^ every_byte('"')) - every_byte(1);
  const std::uint64_t backslash = (word ^ every_byte('\\')) - every_byte(1);
  return (word | control | quote | backslash) & high;
}

bool is_special(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
}

// Copies up to the first special byte and returns how many came before it. Writes whole words, so
// `to` has room for `from` even where less is copied. Most of a text is plain: this is what reading
// and writing it costs.
std::size_t copy_plain(std::string_view from, char* to) {
  std::size_t at = 0;
  for (; at + 8 <= from.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, 8);
    std::memcpy(to + at, &word, 8);
    if (special_bytes(word) != 0) break;
  }
  for (; at < from.size() && !is_special(from[at]); ++at) to[at] = from[at];
  return at;
}

struct Utf8Scan {
  std::size_t
      size;  // of the character, or of the longest part of one (Unicode's "maximal subpart")
  bool valid;
  bool truncated;  // valid so far, and the bytes end
};

Utf8Scan scan_character(std::string_view bytes) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true, false};
  if (lead < 0xC2 || lead > 0xF4) return {1, false, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what is beyond U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t index = 1; index < length; ++index) {
    if (index == bytes.size()) return {index, false, true};
    const unsigned char byte = at(index);
    const bool in_range = index == 1 ? byte >= low && byte <= high : byte >= 0x80 && byte <= 0xBF;
    if (!in_range) return {index, false, false};
  }
  return {length, true, false};
}

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t longest_escape = 6;  // \u001f

char* write_escaped_ascii(char* to, unsigned char byte) {
  const auto named = [&](char name) {
    *to++ = '\\';
    *to++ = name;
    return to;
  };
  switch (byte) {
    case '"':
    case '\\':
      return named(static_cast<char>(byte));
    case '\n':
      return named('n');
    case '\r':
      return named('r');
    case '\t':
      return named('t');
    case '\b':
      return named('b');
    case '\f':
      return named('f');
    default:
      break;
  }
  to = std::copy_n("\\u00", 4, to);
  *to++ = digits[byte >> 4];
  *to++ = digits[byte & 0xF];
  return to;
}

struct Escape {
  std::size_t size;  // 0 if it is none of those written above
  char meaning;
};

Escape read_escape(std::string_view text) {
  if (text.size() < 2) return {0, 0};
  switch (text[1]) {
    case '"':
    case '\\':
      return {2, text[1]};
    case 'n':
      return {2, '\n'};
    case 'r':
      return {2, '\r'};
    case 't':
      return {2, '\t'};
    case 'b':
      return {2, '\b'};
    case 'f':
      return {2, '\f'};
    default:
      break;
  }
  if (text.size() < longest_escape || !text.starts_with("\\u00")) return {0, 0};
  const std::size_t high = digits.find(text[4]);
  const std::size_t low = digits.find(text[5]);
  if (high > 1 || low == std::string_view::npos) return {0, 0};
  return {longest_escape, static_cast<char>(high << 4 | low)};
}

// Where the quote stands that closes it: the first with an even number of backslashes before it.
std::size_t end_of_string(std::string_view text) {
  for (std::size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view bytes) {
  constexpr std::size_t piece_bytes = 1024;
  constexpr std::size_t longest_character = 4;
  std::array<char, (piece_bytes + longest_character) * longest_escape> piece;  // NOLINT: filled
  while (!bytes.empty()) {
    char* to = piece.data();
    for (std::size_t left = piece_bytes; left > 0 && !bytes.empty();) {
      const std::size_t plain = copy_plain(bytes.substr(0, left), to);
      to += plain;
      left -= plain;
      bytes.remove_prefix(plain);
      if (left == 0 || bytes.empty()) break;
      const auto lead = static_cast<unsigned char>(bytes.front());
      const Utf8Scan character = scan_character(bytes);
      if (lead < 0x80) {
        to = write_escaped_ascii(to, lead);
      } else if (character.valid) {
        to = std::copy_n(bytes.data(), character.size, to);
      } else {
        to = std::copy_n("\xEF\xBF\xBD", 3, to);
      }
      left -= std::min(left, character.size);
      bytes.remove_prefix(character.size);
    }
    out.append(piece.data(), static_cast<std::size_t>(to - piece.data()));
  }
}

std::optional<std::string> take_json_string(std::string_view& json) {
  if (!json.starts_with('"')) return std::nullopt;
  const std::size_t end = end_of_string(json.substr(1));
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view rest = json.substr(1, end);
  std::string text(rest.size(), '\0');  // an escape is longer than what it means
  char* to = text.data();
  while (true) {
    const std::size_t copied = copy_plain(rest, to);
    to += copied;
    rest.remove_prefix(copied);
    if (rest.empty()) break;
    if (rest.front() == '\\') {
      const Escape escape = read_escape(rest);
      if (escape.size == 0) return std::nullopt;
      *to++ = escape.meaning;
      rest.remove_prefix(escape.size);
      continue;
    }
    const Utf8Scan character = scan_character(rest);
    if (static_cast<unsigned char>(rest.front()) < 0x80 || !character.valid) return std::nullopt;
    to = std::copy_n(rest.data(), character.size, to);
    rest.remove_prefix(character.size);
  }
  text.resize(static_cast<std::size_t>(to - text.data()));
  json.remove_prefix(end + 2);
  return text;
}

void append_json_string(std::string& out, std::string_view bytes) {
  out += '"';
  append_json_escaped(out, bytes);
  out += '"';
}

std::size_t complete_utf8_prefix(std::string_view bytes) {
  // A character is at most four bytes, so only the last three can begin an incomplete one.
  const std::size_t first = bytes.size() - std::min<std::size_t>(3, bytes.size());
  for (std::size_t at = first; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte < 0xC0) continue;
    if (scan_character(bytes.substr(at)).truncated) return at;
  }
  return bytes.size();
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Scan character = scan_character(bytes);
    if (!character.valid) return false;
    bytes.remove_prefix(character.size);
  }
  return true;
}

}  // namespace hearth
