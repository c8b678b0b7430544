// tests/support/run_task.h: runs one coroutine to its end on a private loop.
#pragma once

#include "async/task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <utility>

namespace hearth::test {

template <typename T>
T run_task(asio::io_context& loop, Task<T> task) {
  std::future<T> result = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.restart();
  // Not to the end of all work: what runs in the background goes on with the next task.
  while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    if (loop.run_one() == 0) break;
  return result.get();
}

}  // namespace hearth::test
