// wire/json_writer.h: the members of a message, appended to its line. Each begins with a comma: the
// opening, with the type, is there already.
#pragma once

#include "base/json_escape.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace hearth::wire {

inline void append_key(std::string& out, std::string_view key) {
  out += ",\"";
  out += key;
  out += "\":";
}

inline void append_member(std::string& out, std::string_view key, std::string_view text) {
  append_key(out, key);
  append_json_string(out, text);
}

inline void append_member(std::string& out, std::string_view key, bool value) {
  append_key(out, key);
  out += value ? "true" : "false";
}

template <typename Number>
void append_digits(std::string& out, Number value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

template <typename Number>
void append_number(std::string& out, std::string_view key, Number value) {
  append_key(out, key);
  append_digits(out, value);
}

}  // namespace hearth::wire
