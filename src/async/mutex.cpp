#include "async/mutex.h"

#include <boost/asio/this_coro.hpp>

namespace hearth {

Task<Mutex::Lock> Mutex::lock() {
  if (!std::exchange(locked_, true)) co_return Lock(*this);
  Waiter waiter{.served = AsyncEvent(co_await asio::this_coro::executor)};
  waiters_.push_back(&waiter);
  try {
    co_await waiter.served.wait_until([&waiter] { return waiter.has_lock; });
  } catch (...) {
    waiters_.remove(&waiter);
    throw;
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
  next->has_lock = true;
  next->served.notify_all();
}

}  // namespace hearth
