#include "async/mutex.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace hearth {

Mutex::Waiter::Waiter(const asio::any_io_executor& executor)
    : turn(executor, asio::steady_timer::time_point::max()) {}

Task<Mutex::Lock> Mutex::lock() {
  if (!std::exchange(locked_, true)) co_return Lock(*this);
  Waiter waiter(co_await asio::this_coro::executor);
  waiters_.push_back(&waiter);
  const auto [error] = co_await waiter.turn.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!waiter.has_it) {
    waiters_.remove(&waiter);
    throw boost::system::system_error(error);
  }
  co_return Lock(*this);
}

void Mutex::unlock() {
  if (waiters_.empty()) {
    locked_ = false;
    return;
  }
  Waiter* next = waiters_.front();
  waiters_.pop_front();
  next->has_it = true;
  next->turn.cancel();
}

}  // namespace hearth
