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
  explicit ScriptedStream(const asio::any_io_executor& executor)
      : news_(executor, asio::steady_timer::time_point::max()),
        room_(executor, asio::steady_timer::time_point::max()) {}

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
    while (pending_.empty() && !ended_) co_await wait_for(news_);
    const std::size_t size = std::min({into.size(), pending_.size(), piece_bytes_});
    std::copy_n(pending_.begin(), size, into.begin());
    pending_.erase(0, size);
    co_return size;
  }

  // While it is clogged it takes no more than that.
  void clog_after(std::size_t bytes) { room_bytes_ = bytes; }
  void unclog() {
    room_bytes_ = static_cast<std::size_t>(-1);
    room_.cancel();
  }

  std::size_t write_now(std::string_view bytes) override {
    if (writes_fail_) throw OsError("write to the sandbox", EPIPE);
    const std::size_t size = std::min(bytes.size(), room_bytes_);
    if (room_bytes_ != static_cast<std::size_t>(-1)) room_bytes_ -= size;
    heard += bytes.substr(0, size);
    if (size > 0) on_heard();
    return size;
  }

  Task<> writable() override {
    if (room_bytes_ == 0) co_await wait_for(room_);
  }

 private:
  static Task<> wait_for(asio::steady_timer& event) {
    co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }

  asio::steady_timer news_;
  asio::steady_timer room_;
  std::string pending_;
  std::size_t piece_bytes_ = static_cast<std::size_t>(-1);
  std::size_t room_bytes_ = static_cast<std::size_t>(-1);
  bool ended_ = false;
  bool writes_fail_ = false;
};

}  // namespace hearth::test
