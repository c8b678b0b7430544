#include "async/within.h"

#include "tests/support/run_task.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <exception>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

Task<> wait_for_ever(asio::io_context& loop) {
  asio::steady_timer timer(loop, asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

Task<> note(bool& ended) {
  co_await asio::post(asio::use_awaitable);
  ended = true;
}

Task<> fail() {
  throw Error("no luck");
  co_return;
}

}  // namespace

TEST_CASE("work that outlives its limit ends as a deadline, other failures as what they are") {
  asio::io_context loop(1);
  CHECK_THROWS_AS(test::run_task(loop, within(10ms, wait_for_ever(loop))), DeadlineExceeded);
  CHECK_THROWS_WITH_AS(test::run_task(loop, within(1h, fail())), "no luck", Error);
  bool ended = false;
  test::run_task(loop, within(1h, note(ended)));
  CHECK(ended);
}

TEST_CASE("work until a bell rings is cancelled by it, and else not touched") {
  asio::io_context loop(1);
  AsyncEvent bell(loop.get_executor());
  bool ended = false;
  test::run_task(loop, until(bell, note(ended)));
  CHECK(ended);
  std::exception_ptr failure;
  asio::co_spawn(loop, until(bell, wait_for_ever(loop)),
                 [&](const std::exception_ptr& thrown) { failure = thrown; });
  loop.restart();
  loop.poll();
  CHECK_FALSE(failure);
  bell.notify_all();
  loop.restart();
  loop.poll();
  REQUIRE(failure);
  CHECK_THROWS_AS(std::rethrow_exception(failure), boost::system::system_error);
}

TEST_CASE("of two tasks the first to end decides, and the other is cancelled and over") {
  asio::io_context loop(1);
  bool ended = false;
  test::run_task(loop, first_of(note(ended), wait_for_ever(loop)));
  CHECK(ended);
  ended = false;
  test::run_task(loop, first_of(wait_for_ever(loop), note(ended)));
  CHECK(ended);
  CHECK_THROWS_WITH_AS(test::run_task(loop, first_of(wait_for_ever(loop), fail())), "no luck",
                       Error);
}
