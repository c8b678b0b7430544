// async/shielded.h: work that comes to its end although its task is cancelled.
#pragma once

#include "async/task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace hearth {

// What `work` returns or throws. The caller has it even if it was cancelled meanwhile; that is not
// forgotten, but takes effect where the caller waits next. `T` needs a default.
template <typename T>
Task<T> shielded(Task<T> work) {
  co_return co_await asio::co_spawn(
      co_await asio::this_coro::executor, std::move(work),
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace hearth
