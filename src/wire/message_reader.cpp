#include "wire/message_reader.h"

namespace hearth::wire {

std::optional<MessageReader::Message> MessageReader::next() {
  if (!header_) {
    const std::optional<LineReader::Line> line = lines_.next();
    if (!line) return std::nullopt;
    if (!line->too_long) header_ = data_header(line->text);
    if (!header_) return Message{line->text, line->too_long};
  }
  const std::optional<std::string_view> bytes = lines_.take(header_->bytes);
  if (!bytes) return std::nullopt;
  const StreamId stream = header_->stream;
  header_.reset();
  return Message{*bytes, false, stream};
}

}  // namespace hearth::wire
