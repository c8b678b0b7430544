#include "async/clock.h"

#include "tests/support/manual_clock.h"
#include "tests/support/run_task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <doctest/doctest.h>

using namespace hearth;
using namespace std::chrono_literals;

TEST_CASE("an alarm rings once its time has come, and not when it is gone") {
  asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  int rang = 0;
  const auto kept = clock.ring_at(clock.now() + 1ms, [&] { ++rang; });
  auto dropped = clock.ring_at(clock.now() + 1ms, [&] { rang += 100; });
  dropped.reset();
  loop.run();
  CHECK(rang == 1);
}

TEST_CASE("an alarm that is due but was destroyed before the loop came to it does not ring") {
  asio::io_context loop(1);
  SystemClock clock(loop.get_executor());
  bool rang = false;
  std::unique_ptr<Clock::Alarm> second;
  const auto first = clock.ring_at(clock.now() - 1ms, [&] { second.reset(); });
  second = clock.ring_at(clock.now() - 1ms, [&] { rang = true; });
  loop.run();
  CHECK_FALSE(rang);
}

TEST_CASE("sleeping ends when the time has come") {
  asio::io_context loop(1);
  test::ManualClock clock;
  bool woke = false;
  asio::co_spawn(
      loop,
      [&]() -> Task<> {
        co_await clock.sleep_until(clock.now() + 1h);
        woke = true;
      },
      asio::detached);
  loop.poll();
  clock.advance(59min);
  loop.restart();
  loop.poll();
  CHECK_FALSE(woke);
  clock.advance(1min);
  loop.restart();
  loop.poll();
  CHECK(woke);
}
