#include "docker/line_reader.h"

#include "channel/sandbox_channel.h"
#include "wire/protocol_error.h"

#include <algorithm>

namespace hearth::docker {
namespace {

enum Stream : unsigned char { standard_input, standard_output, standard_error, engine_error };

}  // namespace

void DockerLineReader::begin_frame() {
  if (header_[0] > engine_error || header_[1] != 0 || header_[2] != 0 || header_[3] != 0)
    throw wire::ProtocolError("the engine sent what is no frame of a container's stream");
  frame_left_ = std::uint32_t{header_[4]} << 24 | std::uint32_t{header_[5]} << 16 |
                std::uint32_t{header_[6]} << 8 | std::uint32_t{header_[7]};
}

void DockerLineReader::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (header_size_ < header_.size()) {
      header_[header_size_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (header_size_ == header_.size()) begin_frame();
    } else {
      const std::string_view piece = bytes.substr(0, frame_left_);
      // An engine before 1.22 calls standard output 0.
      const bool is_output = header_[0] == standard_input || header_[0] == standard_output;
      if (is_output) {
        output_.append(piece);
      } else {
        errors_.append(piece);
      }
      frame_left_ -= static_cast<std::uint32_t>(piece.size());
      bytes.remove_prefix(piece.size());
    }
    if (header_size_ == header_.size() && frame_left_ == 0) header_size_ = 0;
  }
}

void DockerLineReader::finish() const {
  if (header_size_ > 0) throw IncompleteRead("the container's stream ended inside a frame");
  if (output_.inside_message() || errors_.inside_line())
    throw IncompleteRead("the container's stream ended inside a line");
}

}  // namespace hearth::docker
