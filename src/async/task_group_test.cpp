#include "async/task_group.h"

#include "tests/support/run_task.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

using namespace hearth;

namespace {

Task<> note(int& ended) {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  ++ended;
}

Task<> wait_for_ever(int& ended) {
  struct AtEnd {
    int& count;
    ~AtEnd() { ++count; }
  } at_end{ended};
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

Task<> fail() {
  throw std::runtime_error("as it should");
  co_return;
}

}  // namespace

TEST_CASE("a task group drains when all its tasks have ended, failed ones too") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  int ended = 0;
  group.start("one", note(ended));
  group.start("two", note(ended));
  group.start("three", fail());
  test::run_task(loop, group.drained());
  CHECK(ended == 2);
  CHECK(group.size() == 0);
}

TEST_CASE("closing a task group ends the tasks that would go on for ever") {
  asio::io_context loop(1);
  TaskGroup group(loop.get_executor());
  int ended = 0;
  group.start("one", wait_for_ever(ended));
  group.start("two", wait_for_ever(ended));
  test::run_task(loop, group.close());
  CHECK(ended == 2);
}
