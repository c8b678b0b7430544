// docker/line_reader.h: whole lines out of the stream of an attached container, which the engine
// cuts into frames: one byte for the stream, three of padding, four of length in network order,
// then so many bytes. Frames and lines end where they like.
#pragma once

#include "wire/line_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth::docker {

class DockerLineReader {
 public:
  using Line = wire::LineReader::Line;

  explicit DockerLineReader(std::size_t max_line_bytes)
      : output_(max_line_bytes), errors_(max_line_bytes) {}

  // Throws ProtocolError on what is no frame. Of a frame of any size, only lines that have not
  // ended are kept.
  void append(std::string_view bytes);

  // The next whole line of the container's standard output or standard error, valid until the next
  // call of append() or of the same. Those over the limit come as `too_long`.
  std::optional<Line> next() { return output_.next(); }
  std::optional<Line> next_error() { return errors_.next(); }

  // Whether an end of the stream here would cut a line of standard output, or a frame.
  bool inside_line() const { return output_.inside_line() || header_size_ > 0; }
  // The stream has ended. Throws IncompleteRead if it was inside a frame or a line.
  void finish() const;

 private:
  void begin_frame();

  wire::LineReader output_;
  wire::LineReader errors_;
  std::array<unsigned char, 8> header_{};
  std::size_t header_size_ = 0;   // bytes of it so far; all while inside a frame
  std::uint32_t frame_left_ = 0;  // bytes of the frame still to come
};

}  // namespace hearth::docker
