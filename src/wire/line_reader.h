// wire/line_reader.h: whole lines out of a byte stream that is cut anywhere, with a limit on their
// size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::wire {

class LineReader {
 public:
  explicit LineReader(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  void append(std::string_view bytes);

  // The next whole line without its newline, valid until the next call of either; nothing if more
  // bytes are needed. A line over the limit comes as `too_long`, once, with its bytes dropped.
  struct Line {
    std::string_view text;
    bool too_long = false;
  };
  std::optional<Line> next();

  // The next bytes as they are, when so many are there. Valid until the next call of any.
  std::optional<std::string_view> take(std::size_t bytes);

  // Bytes of a line that has not ended: what an end of stream would cut.
  bool inside_line() const { return skipping_ || consumed_ < buffer_.size(); }

 private:
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t consumed_ = 0;  // of buffer_, already handed out
  std::size_t searched_ = 0;  // of buffer_, known to hold no newline
  bool skipping_ = false;     // inside a line that was too long
};

}  // namespace hearth::wire
