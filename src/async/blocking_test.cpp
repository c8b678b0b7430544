#include "async/blocking.h"

#include "async/within.h"
#include "base/error.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <atomic>
#include <semaphore>
#include <string>
#include <thread>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

void wait_for_stop(const std::stop_token& stop) {
  std::binary_semaphore asked(0);
  const std::stop_callback on_stop(stop, [&asked] { asked.release(); });
  asked.acquire();
}

struct NoDefault {
  explicit NoDefault(std::string given) : text(std::move(given)) {}
  NoDefault(NoDefault&&) = default;
  std::string text;
};

}  // namespace

TEST_CASE("work runs in another thread and its result comes back on the loop") {
  asio::io_context loop;
  asio::thread_pool pool(1);
  std::thread::id work_ran_in;
  std::thread::id result_came_in;
  const auto task = [](asio::thread_pool& workers, std::thread::id& ran,
                       std::thread::id& came) -> Task<std::string> {
    const NoDefault result = co_await on_thread(workers, [&ran](const std::stop_token&) {
      ran = std::this_thread::get_id();
      return NoDefault("done");
    });
    came = std::this_thread::get_id();
    co_return result.text;
  };
  CHECK(test::run_task(loop, task(pool, work_ran_in, result_came_in)) == "done");
  CHECK(work_ran_in != std::this_thread::get_id());
  CHECK(result_came_in == std::this_thread::get_id());
}

TEST_CASE("what work throws is thrown to the task") {
  asio::io_context loop;
  asio::thread_pool pool(1);
  auto task = on_thread(pool, [](const std::stop_token&) { throw Error("no luck"); });
  CHECK_THROWS_WITH_AS(test::run_task(loop, std::move(task)), "no luck", Error);
}

TEST_CASE("cancelling asks work to stop and waits until it has") {
  asio::io_context loop;
  asio::thread_pool pool(1);
  std::atomic<bool> running = false;
  auto task = on_thread(pool, [&running](const std::stop_token& stop) {
    running = true;
    wait_for_stop(stop);
    std::this_thread::yield();
    running = false;
    throw Error("stopped");
  });
  CHECK_THROWS_AS(test::run_task(loop, within(1ms, std::move(task))), DeadlineExceeded);
  CHECK_FALSE(running);
}

TEST_CASE("work that finished although it was asked to stop keeps its result") {
  asio::io_context loop;
  asio::thread_pool pool(1);
  std::string kept;
  const auto keep = [](asio::thread_pool& workers, std::string& result) -> Task<> {
    result = co_await on_thread(workers, [](const std::stop_token& stop) {
      wait_for_stop(stop);
      return std::string("finished");
    });
  };
  test::run_task(loop, within(1ms, keep(pool, kept)));
  CHECK(kept == "finished");
}

TEST_CASE("the loop turns while work blocks") {
  asio::io_context loop;
  asio::thread_pool pool(1);
  std::promise<void> go_on;
  asio::post(loop, [&] { asio::post(loop, [&] { go_on.set_value(); }); });
  auto task =
      on_thread(pool, [done = go_on.get_future().share()](const std::stop_token&) { done.wait(); });
  test::run_task(loop, std::move(task));
}
