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
  // As much as goes without waiting, perhaps nothing; throws OsError when the other side is gone.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  // Returns when write_now() is worth another try.
  virtual Task<> writable() = 0;
  // All of it. `bytes` must outlive the task; a cancellation may leave a part written.
  Task<> write(std::string_view bytes);
};

// A stream socket. One task may read while others write.
class DescriptorStream : public ByteStream {
 public:
  DescriptorStream(const asio::any_io_executor& executor, os::UniqueFd fd);
  Task<std::size_t> read_some(std::span<char> into) override;
  std::size_t write_now(std::string_view bytes) override;
  Task<> writable() override;

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace hearth
