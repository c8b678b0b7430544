// docker/line_reader.h: messages out of the stream of an attached container, which the engine
// cuts into frames: one byte for the stream, three of padding, four of length in network order,
// then so many bytes. The engine's frames
// and the sandbox's messages end where they like.
#pragma once

#include "wire/line_reader.h"
#include "wire/message_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth::docker {

class DockerLineReader {
 public:
  using Line = wire::LineReader::Line;
  using Message = wire::MessageReader::Message;

  explicit DockerLineReader(std::size_t max_line_bytes)
      : output_(max_line_bytes), errors_(max_line_bytes) {}

  // Throws ProtocolError on what is no frame. Of a frame of any size, only messages that have
  // not ended are kept.
  void append(std::string_view bytes);

  // The next message of the container's standard output, or line of its standard error. Valid until
  // the next call of append() or of the same. Lines over the limit come as `too_long`.
  std::optional<Message> next() { return output_.next(); }
  std::optional<Line> next_error() { return errors_.next(); }

  // Whether an end of the stream here would cut a message, or a frame of the engine.
  bool inside_message() const { return output_.inside_message() || header_size_ > 0; }
  // The stream has ended. Throws IncompleteRead if it was inside a frame, a message or a line.
  void finish() const;

 private:
  void begin_frame();

  wire::MessageReader output_;
  wire::LineReader errors_;
  std::array<unsigned char, 8> header_{};
  std::size_t header_size_ = 0;   // bytes of it so far; all while inside a frame
  std::uint32_t frame_left_ = 0;  // bytes of the frame still to come
};

}  // namespace hearth::docker
