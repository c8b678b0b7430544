// Any bytes as the stream of an attached container: the same lines however they are cut, lines no
// longer than allowed, or a ProtocolError.
#include "channel/sandbox_channel.h"
#include "docker/line_reader.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using hearth::docker::DockerLineReader;

namespace {

constexpr std::size_t max_line_bytes = 256;

template <typename NextSize>
std::vector<std::string> seen_in(std::string_view bytes, NextSize next_size) {
  DockerLineReader reader(max_line_bytes);
  std::vector<std::string> output;
  std::vector<std::string> errors;
  const auto take = [](const auto& line) {
    return line.too_long ? std::string("too long") : std::string(line.text);
  };
  std::string end = "whole";
  try {
    while (!bytes.empty()) {
      const std::size_t size = std::min<std::size_t>(next_size(), bytes.size());
      const std::string_view piece = bytes.substr(0, size);
      bytes.remove_prefix(size);
      reader.append(piece);
      while (const auto message = reader.next()) {
        if (!message->stream && message->text.size() > max_line_bytes) std::abort();
        output.push_back(take(*message));
      }
      while (const auto line = reader.next_error()) {
        if (line->text.size() > max_line_bytes) std::abort();
        errors.push_back(take(*line));
      }
    }
    reader.finish();
  } catch (const hearth::IncompleteRead&) {
    end = "cut";
  } catch (const hearth::wire::ProtocolError&) {
    return {"no frames"};  // how much was read before depends on the pieces
  }
  output.push_back(end);
  output.insert(output.end(), errors.begin(), errors.end());
  return output;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = seen_in(bytes, [&] { return size; });
  std::minstd_rand random(static_cast<unsigned>(size));
  if (seen_in(bytes, [] { return 1; }) != whole) std::abort();
  if (seen_in(bytes, [&] { return 1 + random() % 32; }) != whole) std::abort();
  return 0;
}
