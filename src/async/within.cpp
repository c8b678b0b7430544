#include "async/within.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>

namespace hearth {

// Not `work || timer` (Boost 1.81): if `work` throws, that operator waits on for the timer and
// reports the bug as a time-out.
Task<> within(std::chrono::nanoseconds limit, Task<> work) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, limit);
  auto race = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, std::move(work), asio::deferred), timer.async_wait(asio::deferred));
  const auto outcome =
      co_await race.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto& [order, failure, timer_error] = outcome;

  const bool timed_out = order[0] == 1 && !timer_error;
  if (timed_out && failure) throw DeadlineExceeded("time limit reached");
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hearth
