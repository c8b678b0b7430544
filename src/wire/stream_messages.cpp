#include "wire/stream_messages.h"

#include "wire/protocol_error.h"

#include <charconv>
#include <system_error>

namespace hearth::wire {
namespace {

constexpr std::string_view opening = R"({"type":"data","stream":)";
constexpr std::string_view middle = R"(,"bytes":)";

// Digits as encode() writes them, removed from the front.
std::uint32_t take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || (text.front() == '0' && digits > 1))
    throw ProtocolError("a data header without a proper number");
  text.remove_prefix(digits);
  return value;
}

}  // namespace

void append_data_header(std::string& out, const DataHeader& header) {
  out += opening;
  out += std::to_string(header.stream);
  out += middle;
  out += std::to_string(header.bytes);
  out += "}\n";
}

std::optional<DataHeader> data_header(std::string_view line) {
  if (!line.starts_with(opening)) return std::nullopt;
  line.remove_prefix(opening.size());
  DataHeader header;
  header.stream = take_number(line);
  if (!line.starts_with(middle)) throw ProtocolError("a data header without \"bytes\"");
  line.remove_prefix(middle.size());
  header.bytes = take_number(line);
  if (line != "}") throw ProtocolError("a data header with more than it may have");
  if (header.bytes == 0 || header.bytes > max_frame_bytes)
    throw ProtocolError("a data frame must have 1 to " + std::to_string(max_frame_bytes) +
                        " bytes");
  return header;
}

}  // namespace hearth::wire
