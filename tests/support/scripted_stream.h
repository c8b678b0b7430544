// tests/support/scripted_stream.h: the other side of a conversation, played from a script.
#pragma once

#include "async/byte_stream.h"
#include "base/error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::test {

class ScriptedStream : public ByteStream {
 public:
  explicit ScriptedStream(const asio::any_io_executor& executor) : news_(executor) {}

  void say(std::string_view bytes) {
    pending_ += bytes;
    news_.cancel();
  }
  void hang_up() {
    ended_ = true;
    news_.cancel();
  }
  void deliver_at_most(std::size_t bytes) { piece_bytes_ = bytes; }
  void refuse_writes() { writes_fail_ = true; }

  std::string heard;                       // all that was written to it
  std::function<void()> on_heard = [] {};  // called after each write

  Task<std::size_t> read_some(std::span<char> into) override {
    while (pending_.empty() && !ended_) co_await wait_for_news();
    const std::size_t size = std::min({into.size(), pending_.size(), piece_bytes_});
    std::copy_n(pending_.begin(), size, into.begin());
    pending_.erase(0, size);
    co_return size;
  }

  Task<> write(std::string_view bytes) override {
    if (writes_fail_) throw OsError("write to the sandbox", EPIPE);
    heard += bytes;
    on_heard();
    co_return;
  }

 private:
  Task<> wait_for_news() {
    news_.expires_at(asio::steady_timer::time_point::max());
    co_await news_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }

  asio::steady_timer news_;
  std::string pending_;
  std::size_t piece_bytes_ = static_cast<std::size_t>(-1);
  bool ended_ = false;
  bool writes_fail_ = false;
};

}  // namespace hearth::test
