#include "async/mutex.h"

#include "async/within.h"
#include "tests/support/run_task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <doctest/doctest.h>

#include <future>
#include <string>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

Task<> yield(int times) {
  const auto executor = co_await asio::this_coro::executor;
  for (int i = 0; i < times; ++i) co_await asio::post(executor, asio::use_awaitable);
}

Task<> note_twice(Mutex& mutex, std::string& order, char name) {
  const Mutex::Lock lock = co_await mutex.lock();
  order += name;
  co_await yield(3);
  order += name;
}

}  // namespace

TEST_CASE("a mutex lets one task in at a time, in the order they came") {
  asio::io_context loop(1);
  Mutex mutex;
  std::string order;
  for (const char name : {'a', 'b', 'c'})
    asio::co_spawn(loop, note_twice(mutex, order, name), asio::use_future);
  loop.run();
  CHECK(order == "aabbcc");
}

TEST_CASE("a task that gives up waiting for a mutex leaves it to the next") {
  asio::io_context loop(1);
  Mutex mutex;
  std::string order;
  const auto holder = [](Mutex& held, std::string& said) -> Task<> {
    const Mutex::Lock lock = co_await held.lock();
    co_await within(200ms, [](Mutex& inner, std::string& text) -> Task<> {
      CHECK_THROWS_AS(co_await within(5ms, note_twice(inner, text, 'x')), DeadlineExceeded);
    }(held, said));
  };
  std::future<void> held = asio::co_spawn(loop, holder(mutex, order), asio::use_future);
  std::future<void> next = asio::co_spawn(loop, note_twice(mutex, order, 'b'), asio::use_future);
  loop.run();
  held.get();
  next.get();
  CHECK(order == "bb");
}
