#include "wire/line_reader.h"

namespace hearth::wire {

void LineReader::append(std::string_view bytes) {
  if (consumed_ > 0) {
    buffer_.erase(0, consumed_);
    searched_ -= consumed_;
    consumed_ = 0;
  }
  if (skipping_) {
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) return;
    skipping_ = false;
    bytes.remove_prefix(newline + 1);
  }
  buffer_.append(bytes);
}

std::optional<LineReader::Line> LineReader::next() {
  const std::size_t newline = buffer_.find('\n', searched_);
  if (newline == std::string::npos) {
    searched_ = buffer_.size();
    if (buffer_.size() - consumed_ <= max_line_bytes_) return std::nullopt;
    consumed_ = buffer_.size();
    skipping_ = true;
    return Line{{}, true};
  }
  const std::string_view line(buffer_.data() + consumed_, newline - consumed_);
  consumed_ = newline + 1;
  searched_ = consumed_;
  if (line.size() > max_line_bytes_) return Line{{}, true};
  return Line{line, false};
}

std::optional<std::string_view> LineReader::take(std::size_t bytes) {
  if (buffer_.size() - consumed_ < bytes) return std::nullopt;
  const std::string_view taken(buffer_.data() + consumed_, bytes);
  consumed_ += bytes;
  searched_ = consumed_;
  return taken;
}

}  // namespace hearth::wire
