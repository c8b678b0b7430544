#include "async/byte_stream.h"

#include "base/error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

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

Task<> DescriptorStream::write(std::string_view bytes) {
  const auto [error, size] =
      co_await asio::async_write(descriptor_, asio::buffer(bytes.data(), bytes.size()), as_result);
  rethrow_cancellation(error);
  if (error) throw OsError("write to the sandbox", error.value());
}

}  // namespace hearth
