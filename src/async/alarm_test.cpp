#include "async/alarm.h"

#include <boost/asio/io_context.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <thread>

using namespace hearth;
using namespace std::chrono_literals;

TEST_CASE("an alarm rings once, and never when it is gone") {
  asio::io_context loop(1);
  int rung = 0;
  const Alarm kept(loop.get_executor(), 1ms, [&] { ++rung; });
  {
    const Alarm gone(loop.get_executor(), 1ms, [&] { rung += 100; });
  }
  loop.run();
  CHECK(rung == 1);
}

TEST_CASE("an alarm that is due and then gone does not ring") {
  asio::io_context loop(1);
  int rung = 0;
  std::optional<Alarm> later;
  // Both are due in the same round of the loop, and the first to ring takes the second away.
  const Alarm first(loop.get_executor(), 1ms, [&] { later.reset(); });
  later.emplace(loop.get_executor(), 2ms, [&] { ++rung; });
  std::this_thread::sleep_for(5ms);
  loop.run();
  CHECK(rung == 0);
}
