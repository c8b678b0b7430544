#include "async/byte_stream.h"

#include "base/error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace hearth {
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

void rethrow_cancellation(const boost::system::error_code& error) {
  if (error == asio::error::operation_aborted) throw boost::system::system_error(error);
}

}  // namespace

DescriptorStream::DescriptorStream(const asio::any_io_executor& executor, os::UniqueFd fd)
    : descriptor_(executor, fd.get()) {
  fd.release();
}

Task<std::size_t> DescriptorStream::read_some(std::span<char> into) {
  const auto [error, size] =
      co_await descriptor_.async_read_some(asio::buffer(into.data(), into.size()), as_result);
  rethrow_cancellation(error);
  // Reset by the other side or ended by it: for the reader it is gone either way.
  co_return error ? 0 : size;
}

// Not asio::async_write: on a descriptor that uses writev, and writing to a sandbox that has just
// died would end this process with SIGPIPE.
std::size_t DescriptorStream::write_now(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t sent = ::send(descriptor_.native_handle(), bytes.data() + written,
                                bytes.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      written += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      throw OsError("write to the sandbox");
    }
  }
  return written;
}

Task<> DescriptorStream::writable() {
  const auto [error] = co_await descriptor_.async_wait(descriptor_.wait_write, as_result);
  rethrow_cancellation(error);
}

Task<> ByteStream::write(std::string_view bytes) {
  bytes.remove_prefix(write_now(bytes));
  while (!bytes.empty()) {
    co_await writable();
    bytes.remove_prefix(write_now(bytes));
  }
}

}  // namespace hearth
