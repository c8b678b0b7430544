// base/json_escape.h: any bytes as a JSON string. For untrusted bytes, such as a script's output or
// a log field: what is not UTF-8 becomes U+FFFD, so the line stays valid JSON. Everything else
// about JSON is done by Boost.JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// Appends `bytes` with quotes around it.
void append_json_string(std::string& out, std::string_view bytes);

// The same without the quotes: for a text that arrives in pieces cut at `complete_utf8_prefix`.
void append_json_escaped(std::string& out, std::string_view bytes);

// Reads a string from the front of `json`, written as append_json_string writes it, and removes it.
// Any other spelling, even a valid one, gives nothing and leaves `json` unchanged, for the parser.
std::optional<std::string> take_json_string(std::string_view& json);

// How many bytes at the front do not end inside a multi-byte character that more bytes could
// complete.
std::size_t complete_utf8_prefix(std::string_view bytes);

// Whether `bytes` would pass through the above as they are, but for what JSON escapes.
bool is_utf8(std::string_view bytes);

}  // namespace hearth
