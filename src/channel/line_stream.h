// channel/line_stream.h: whole lines from a sandbox, bytes to it, over any transport.
#pragma once

#include "async/byte_stream.h"
#include "async/task.h"
#include "wire/line_reader.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace hearth {

// No sandbox sends a longer line: init limits what a script can put into one to half of this.
inline constexpr std::size_t max_event_line_bytes = std::size_t{16} << 20;

class LineStream {
 public:
  virtual ~LineStream() = default;
  // A line that has arrived, valid until the next call of this or of fill().
  virtual std::optional<wire::LineReader::Line> next() = 0;
  // Waits for more; false when the other side is gone.
  virtual Task<bool> fill() = 0;
  // True if an end of the stream here would cut a line.
  virtual bool inside_line() const = 0;
  // All of it; throws OsError when the other side is gone. `bytes` must outlive the task.
  virtual Task<> write(std::string_view bytes) = 0;
};

// Lines of a stream that carries nothing else.
class PlainLineStream : public LineStream {
 public:
  explicit PlainLineStream(std::unique_ptr<ByteStream> bytes)
      : bytes_(std::move(bytes)), lines_(max_event_line_bytes) {}
  std::optional<wire::LineReader::Line> next() override { return lines_.next(); }
  Task<bool> fill() override;
  bool inside_line() const override { return lines_.inside_line(); }
  Task<> write(std::string_view text) override { return bytes_->write(text); }

 private:
  std::unique_ptr<ByteStream> bytes_;
  wire::LineReader lines_;
  std::array<char, std::size_t{64} << 10> chunk_;
};

}  // namespace hearth
