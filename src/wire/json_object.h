// wire/json_object.h: one JSON object taken apart into its members, strictly, without building a
// tree.
//
// Numbers keep their digits: a script's 2**100 must reach its reader as it was written, which a
// tree of doubles would not do. Nested values come out as canonical JSON text (no blanks), already
// checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::wire {

enum class JsonKind { string, number, boolean, null, array, object };

struct JsonMember {
  std::string key;
  JsonKind kind = JsonKind::null;
  std::string text;  // a string's characters; any other value's canonical JSON
};

// No message has nearly as many; an environment may.
inline constexpr std::size_t usual_members = 64;
inline constexpr std::size_t any_number = static_cast<std::size_t>(-1);

// Throws ProtocolError: not JSON, not an object, invalid UTF-8, nested too deeply, a key twice,
// more than `max_members`.
std::vector<JsonMember> parse_object(std::string_view text,
                                     std::size_t max_members = usual_members);

// The elements of an array, without keys. Throws ProtocolError as above, but for keys.
std::vector<JsonMember> parse_array(std::string_view text, std::size_t max_elements);

// The elements of an array of strings; ProtocolError for anything else.
std::vector<std::string> parse_string_array(std::string_view text);

}  // namespace hearth::wire
