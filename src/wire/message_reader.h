// wire/message_reader.h: lines and data frames out of a byte stream that is cut anywhere.
#pragma once

#include "wire/line_reader.h"
#include "wire/stream_messages.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace hearth::wire {

class MessageReader {
 public:
  explicit MessageReader(std::size_t max_line_bytes) : lines_(max_line_bytes) {}

  void append(std::string_view bytes) { lines_.append(bytes); }

  // The next whole line without its newline, or the bytes of the next whole frame. Valid until the
  // next call of either; nothing if more bytes are needed. A line over the limit comes as
  // `too_long`, once, with its bytes dropped. Throws ProtocolError for a header that is none: its
  // line is dropped, and how many bytes belong to it is not known.
  struct Message {
    std::string_view text;
    bool too_long = false;
    std::optional<StreamId> stream = {};  // of a frame
  };
  std::optional<Message> next();

  // What an end of stream would cut: a line, or a frame.
  bool inside_message() const { return header_.has_value() || lines_.inside_line(); }

 private:
  LineReader lines_;
  std::optional<DataHeader> header_;  // of the frame whose bytes are awaited
};

}  // namespace hearth::wire
