// channel/message_stream.h: lines and data frames from a sandbox, bytes to it, over any transport.
#pragma once

#include "async/byte_stream.h"
#include "async/task.h"
#include "wire/message_reader.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace hearth {

// No sandbox sends a longer line: init limits what a script can put into one to half of this.
inline constexpr std::size_t max_event_line_bytes = std::size_t{16} << 20;

class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // A message that has arrived, valid until the next call of this or of fill(). Throws
  // ProtocolError.
  virtual std::optional<wire::MessageReader::Message> next() = 0;
  // Waits for more; false when the other side is gone. A cancellation loses nothing.
  virtual Task<bool> fill() = 0;
  // True if an end of the stream here would cut a message.
  virtual bool inside_message() const = 0;
  // As ByteStream.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  virtual Task<> writable() = 0;
};

// Of a stream that carries nothing else.
class PlainMessageStream : public MessageStream {
 public:
  explicit PlainMessageStream(std::unique_ptr<ByteStream> bytes)
      : bytes_(std::move(bytes)), messages_(max_event_line_bytes) {}
  std::optional<wire::MessageReader::Message> next() override { return messages_.next(); }
  Task<bool> fill() override;
  bool inside_message() const override { return messages_.inside_message(); }
  std::size_t write_now(std::string_view bytes) override { return bytes_->write_now(bytes); }
  Task<> writable() override { return bytes_->writable(); }

 private:
  std::unique_ptr<ByteStream> bytes_;
  wire::MessageReader messages_;
  std::array<char, std::size_t{64} << 10> chunk_;
};

}  // namespace hearth
