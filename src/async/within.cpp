#include "async/within.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <utility>

namespace hearth {
namespace {

struct Outcome {
  std::exception_ptr failure;
  bool was_stopped = false;            // the timer came first
  boost::system::error_code of_timer;  // none: it expired
};

// Not `work || timer` (Boost 1.81): if `work` throws, that operator waits on for the timer and
// reports the bug as a time-out.
Task<Outcome> race(Task<> work, asio::steady_timer& timer) {
  const auto executor = co_await asio::this_coro::executor;
  auto both = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, std::move(work), asio::deferred), timer.async_wait(asio::deferred));
  const auto ends =
      co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto& [order, failure, of_timer] = ends;
  co_return Outcome{failure, order[0] == 1, of_timer};
}

}  // namespace

Task<> within(std::chrono::nanoseconds limit, Task<> work) {
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  const Outcome outcome = co_await race(std::move(work), timer);
  const bool timed_out = outcome.was_stopped && !outcome.of_timer;
  if (timed_out && outcome.failure) throw DeadlineExceeded("time limit reached");
  if (outcome.failure) std::rethrow_exception(outcome.failure);
}

Task<> first_of(Task<> one, Task<> other) {
  const auto executor = co_await asio::this_coro::executor;
  auto both = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, std::move(one), asio::deferred),
      asio::co_spawn(executor, std::move(other), asio::deferred));
  const auto ends =
      co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto& [order, of_one, of_other] = ends;
  const std::exception_ptr& failure = order[0] == 0 ? of_one : of_other;
  if (failure) std::rethrow_exception(failure);
}

Task<> until(AsyncEvent& bell, Task<> work) {
  const Outcome outcome = co_await race(std::move(work), bell.timer_);
  if (outcome.failure) std::rethrow_exception(outcome.failure);
}

}  // namespace hearth
