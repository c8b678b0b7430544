#include "docker/container_stream.h"

#include "base/error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace hearth::docker {
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t most_last_words = 4096;

void rethrow_cancellation(const boost::system::error_code& error) {
  if (error == asio::error::operation_aborted) throw boost::system::system_error(error);
}

}  // namespace

ContainerStream::ContainerStream(HttpConnection::Hijacked connection, AtEnd at_end)
    : socket_(std::move(connection.socket)),
      at_end_(std::move(at_end)),
      lines_(max_event_line_bytes) {
  lines_.append(connection.first_bytes);
  socket_.non_blocking(true);
}

std::optional<wire::MessageReader::Message> ContainerStream::next() { return lines_.next(); }

Task<bool> ContainerStream::fill() {
  const auto [error, size] = co_await socket_.async_read_some(asio::buffer(chunk_), as_result);
  if (!hung_up_) rethrow_cancellation(error);
  if (error || size == 0) {
    if (!hung_up_) co_await at_end_();
    co_return false;
  }
  lines_.append({chunk_.data(), size});
  keep_errors();
  co_return true;
}

void ContainerStream::keep_errors() {
  while (const auto line = lines_.next_error()) {
    last_words_ += std::string(line->text) + '\n';
    if (last_words_.size() > most_last_words)
      last_words_.erase(0, last_words_.size() - most_last_words);
  }
}

std::size_t ContainerStream::write_now(std::string_view bytes) {
  boost::system::error_code error;
  const std::size_t size = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error == asio::error::would_block) return 0;
  if (error) throw OsError("write to the container", EPIPE);
  return size;
}

Task<> ContainerStream::writable() {
  const auto [error] = co_await socket_.async_wait(socket_.wait_write, as_result);
  if (!hung_up_) rethrow_cancellation(error);
  if (error) throw OsError("write to the container", EPIPE);
}

void ContainerStream::hang_up() {
  if (std::exchange(hung_up_, true)) return;
  boost::system::error_code ignored;
  socket_.shutdown(HttpConnection::Socket::shutdown_both, ignored);
}

}  // namespace hearth::docker
