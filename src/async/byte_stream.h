// async/byte_stream.h: bytes both ways, whatever carries them: a socketpair, an engine's attached
// connection.
#pragma once

#include "async/task.h"
#include "os/unique_fd.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace hearth {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // At least one byte; 0 when the other side is gone, however it went.
  virtual Task<std::size_t> read_some(std::span<char> into) = 0;
  // All of it; throws OsError when the other side is gone. `bytes` must outlive the task.
  virtual Task<> write(std::string_view bytes) = 0;
};

// A stream socket. Two tasks may use it at once, one reading and one writing.
class DescriptorStream : public ByteStream {
 public:
  DescriptorStream(const asio::any_io_executor& executor, os::UniqueFd fd);
  Task<std::size_t> read_some(std::span<char> into) override;
  Task<> write(std::string_view bytes) override;

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace hearth
