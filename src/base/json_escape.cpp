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

std::size_t plain_prefix(const char* data, std::size_t size) {
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, 8);
    if (special_bytes(word) != 0) break;
  }
  for (; at < size; ++at) {
    const auto byte = static_cast<unsigned char>(data[at]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
  }
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

void append_escaped_ascii(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[byte >> 4];
  out += digits[byte & 0xF];
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t plain = plain_prefix(bytes.data(), bytes.size());
    out.append(bytes.data(), plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return;
    const auto lead = static_cast<unsigned char>(bytes.front());
    if (lead < 0x80) {
      append_escaped_ascii(out, lead);
      bytes.remove_prefix(1);
      continue;
    }
    const Utf8Scan character = scan_character(bytes);
    if (character.valid) {
      out.append(bytes.data(), character.size);
    } else {
      out += "\xEF\xBF\xBD";
    }
    bytes.remove_prefix(character.size);
  }
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
