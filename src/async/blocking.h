// async/blocking.h: work that blocks, run by a thread of a pool and awaited on the loop.
#pragma once

#include "async/task.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace hearth {

// Calls `work(stop_token)` in a thread of `pool`; what it returns or throws comes back in the
// coroutine's own executor. The pool must outlive the task.
//
// Nothing can interrupt a thread, so cancelling the task only asks `work` to stop, through its
// token; the task goes on waiting until `work` has returned and then has what it returned. So none
// of it is running once the caller has its answer, and `work` may refer to what the caller owns.
template <typename Work>
Task<std::invoke_result_t<Work&, std::stop_token>> on_thread(asio::thread_pool& pool, Work work) {
  using Result = std::invoke_result_t<Work&, std::stop_token>;
  constexpr bool has_result = !std::is_void_v<Result>;
  using Slot = std::conditional_t<has_result, Result, char>;
  struct Outcome {
    std::unique_ptr<Slot> value;  // not every result has a default
    std::exception_ptr failure;
  };
  Outcome outcome;
  std::stop_source stop;
  const auto run = [&] {
    try {
      if constexpr (has_result) {
        outcome.value = std::make_unique<Slot>(std::invoke(work, stop.get_token()));
      } else {
        std::invoke(work, stop.get_token());
      }
    } catch (...) {
      outcome.failure = std::current_exception();
    }
  };
  const auto start = [&](auto handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected())
      slot.assign([stop](asio::cancellation_type /*kind*/) mutable { stop.request_stop(); });
    // Tracked work: the loop must not run out of it and return while the thread is busy.
    auto loop = asio::prefer(asio::get_associated_executor(handler),
                             asio::execution::outstanding_work.tracked);
    asio::post(pool, [&run, loop, handler = std::move(handler)]() mutable {
      run();
      asio::post(loop, std::move(handler));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable);
  if (outcome.failure) std::rethrow_exception(outcome.failure);
  if constexpr (has_result) co_return std::move(*outcome.value);
}

}  // namespace hearth
