// Any bytes as the stream of either side: the same lines however they are cut, and each line a
// message that survives its own encoding, or a ProtocolError.
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/line_reader.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace hearth::wire;

namespace {

constexpr std::size_t max_line_bytes = 1024;

template <typename NextSize>
std::vector<std::string> lines_of(std::string_view bytes, NextSize next_size) {
  LineReader reader(max_line_bytes);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(next_size(), bytes.size());
    reader.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    while (const auto line = reader.next())
      lines.push_back(line->too_long ? "too long" : std::string(line->text));
  }
  return lines;
}

// Nothing for a line that is refused: what a hostile sandbox is worth.
template <typename Decode>
auto decoded(std::string_view line, Decode decode) {
  using Message = decltype(decode(line));
  try {
    return std::optional<Message>(decode(line));
  } catch (const ProtocolError&) {
    return std::optional<Message>();
  }
}

template <typename Decode>
void check_line(const std::string& line, Decode decode) {
  const auto message = decoded(line, decode);
  // Not as encode() writes it, and so without the short way for objects of strings.
  if (decoded(" " + line, decode) != message) std::abort();
  if (!message) return;
  std::string again = encode(*message);
  again.pop_back();
  if (again.find('\n') != std::string::npos || decode(again) != *message) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = lines_of(bytes, [&] { return size; });
  std::minstd_rand random(static_cast<unsigned>(size));
  if (lines_of(bytes, [] { return 1; }) != whole) std::abort();
  if (lines_of(bytes, [&] { return 1 + random() % 64; }) != whole) std::abort();
  for (const std::string& line : whole) {
    check_line(line, [](std::string_view text) { return decode_event(text); });
    check_line(line, [](std::string_view text) { return decode_request(text); });
  }
  return 0;
}
