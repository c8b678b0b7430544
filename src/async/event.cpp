#include "async/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace hearth {

AsyncEvent::AsyncEvent(const asio::any_io_executor& executor)
    : timer_(executor, asio::steady_timer::time_point::max()) {}

Task<> AsyncEvent::wait() {
  if (co_await wait_or_cancelled()) throw_cancelled();
}

// A notification and a cancellation complete the wait with the same error code. Only the task's own
// state tells them apart.
Task<bool> AsyncEvent::wait_or_cancelled() {
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
  co_return task.cancelled() != asio::cancellation_type::none;
}

void AsyncEvent::throw_cancelled() {
  throw boost::system::system_error(asio::error::operation_aborted);
}

}  // namespace hearth
