#include "async/cleanup.h"

#include "async/shielded.h"

#include <boost/asio/this_coro.hpp>

#include <exception>

namespace hearth {
namespace {

enum class When { always, on_failure };

Task<std::exception_ptr> failure_of(Task<> work) try {
  co_await std::move(work);
  co_return nullptr;
} catch (...) {
  co_return std::current_exception();
}

Task<> run(Task<> work, Task<> clean_up, When when) {
  std::exception_ptr failure = co_await failure_of(std::move(work));
  if (!failure && when == When::on_failure) co_return;
  // A cancelled task throws at its next co_await. Switching that off for a moment, unlike
  // reset_cancellation_state, does not forget the cancellation.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const std::exception_ptr clean_up_failure = co_await failure_of(shielded(std::move(clean_up)));
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (!failure) failure = clean_up_failure;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Task<> then_clean_up(Task<> work, Task<> clean_up) {
  return run(std::move(work), std::move(clean_up), When::always);
}

Task<> or_clean_up(Task<> work, Task<> clean_up) {
  return run(std::move(work), std::move(clean_up), When::on_failure);
}

}  // namespace hearth
