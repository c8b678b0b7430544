// base/base64.h: any bytes as text, and back (RFC 4648, section 4). For hearth-init, too, so
// without a library behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// With padding, without line breaks.
void append_base64(std::string& out, std::string_view bytes);

// Strict: nothing but the alphabet, all of the padding, and no bits that say nothing but are set,
// so that each sequence of bytes has one text. Nothing for any other text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace hearth
