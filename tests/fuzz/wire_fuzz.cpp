// Any bytes as the stream of either side: the same lines and data frames however they are cut, and
// each line a message that survives its own encoding, or a ProtocolError.
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/message_reader.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace hearth::wire;

namespace {

constexpr std::size_t max_line_bytes = 1024;

struct Said {
  std::vector<std::string> lines;
  std::vector<std::pair<StreamId, std::string>> frames;
  bool operator==(const Said&) const = default;
};

void take_messages(MessageReader& reader, Said& said) {
  while (true) {
    try {
      const auto message = reader.next();
      if (!message) return;
      if (message->stream) {
        if (message->text.empty() || message->text.size() > max_frame_bytes) std::abort();
        said.frames.emplace_back(*message->stream, message->text);
      } else {
        said.lines.push_back(message->too_long ? "too long" : std::string(message->text));
      }
    } catch (const ProtocolError&) {
      said.lines.emplace_back("a header that is none");
    }
  }
}

template <typename NextSize>
Said said_in(std::string_view bytes, NextSize next_size) {
  MessageReader reader(max_line_bytes);
  Said said;
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(next_size(), bytes.size());
    reader.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    take_messages(reader, said);
  }
  return said;
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
  const Said whole = said_in(bytes, [&] { return size; });
  std::minstd_rand random(static_cast<unsigned>(size));
  if (said_in(bytes, [] { return 1; }) != whole) std::abort();
  if (said_in(bytes, [&] { return 1 + random() % 64; }) != whole) std::abort();
  for (const std::string& line : whole.lines) {
    check_line(line, [](std::string_view text) { return decode_event(text); });
    check_line(line, [](std::string_view text) { return decode_request(text); });
  }
  return 0;
}
