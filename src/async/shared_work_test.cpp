#include "async/shared_work.h"

#include "async/within.h"
#include "base/error.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <atomic>
#include <semaphore>
#include <vector>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

using Work = SharedWork<int>;

// Callers of one loop, and what became of each.
struct Callers {
  explicit Callers(std::size_t threads = 2) : work(loop.get_executor(), threads) {}

  static Task<> call(Work& work, Work::Job job, std::vector<int>& results,
                     Work::OnReport on_report) {
    results.push_back(co_await work.run("key", std::move(job), std::move(on_report)));
  }
  void spawn(Work::Job job, Work::OnReport on_report = {}) {
    asio::co_spawn(loop, call(work, std::move(job), results, std::move(on_report)),
                   [this](std::exception_ptr error) { failures += error ? 1 : 0; });
  }
  // Takes its place at once and is cancelled when the loop has nothing better to do.
  void spawn_cancelled(Work::Job job) {
    asio::co_spawn(loop, within(1ms, call(work, std::move(job), results, {})),
                   [this](std::exception_ptr error) { cancelled += error ? 1 : 0; });
  }

  asio::io_context loop;
  Work work;
  std::vector<int> results;
  int failures = 0;
  int cancelled = 0;
};

void wait_for_stop(const std::stop_token& stop) {
  std::binary_semaphore asked(0);
  const std::stop_callback on_stop(stop, [&asked] { asked.release(); });
  asked.acquire();
}

}  // namespace

TEST_CASE("callers at one time get the result of one run, callers later that of another") {
  Callers callers;
  std::atomic<int> runs = 0;
  std::binary_semaphore go_on(0);
  const Work::Job job = [&](const std::stop_token&, const Work::Report&) {
    go_on.acquire();
    return ++runs;
  };
  for (int caller = 0; caller < 10; ++caller) callers.spawn(job);
  asio::post(callers.loop, [&] { go_on.release(); });
  callers.loop.run();
  CHECK(callers.results == std::vector<int>(10, 1));

  go_on.release();
  CHECK(test::run_task(callers.loop, callers.work.run("key", job)) == 2);
}

TEST_CASE("what the work throws is thrown to every caller") {
  Callers callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.spawn([](const std::stop_token&, const Work::Report&) -> int { throw Error("no"); });
  callers.loop.run();
  CHECK(callers.failures == 3);
}

TEST_CASE("a caller that is cancelled leaves the work to the others") {
  Callers callers;
  std::binary_semaphore go_on(0);
  std::atomic<bool> was_asked_to_stop = false;
  const Work::Job job = [&](const std::stop_token& stop, const Work::Report&) {
    go_on.acquire();
    was_asked_to_stop = stop.stop_requested();
    return 7;
  };
  callers.spawn_cancelled(job);
  callers.spawn(job);
  while (callers.cancelled == 0) callers.loop.run_one();
  go_on.release();
  callers.loop.run();
  CHECK(callers.results == std::vector<int>{7});
  CHECK_FALSE(was_asked_to_stop);
}

TEST_CASE("when the last caller is cancelled the work is asked to stop, and the next starts anew") {
  Callers callers;
  std::binary_semaphore begin_anew(0);
  std::atomic<int> runs = 0;
  const Work::Job job = [&](const std::stop_token& stop, const Work::Report&) {
    if (++runs > 1) return 7;
    wait_for_stop(stop);
    begin_anew.acquire();
    throw Error("stopped");
  };
  callers.spawn_cancelled(job);
  while (callers.cancelled == 0) callers.loop.run_one();
  callers.loop.restart();
  callers.spawn(job);  // while the first run is still stopping
  callers.loop.poll();
  begin_anew.release();
  callers.loop.run();
  CHECK(callers.results == std::vector<int>{7});
  CHECK(runs == 2);
}

TEST_CASE("reports come to every caller, in order and before the result") {
  Callers callers;
  std::vector<std::string> seen;
  const Work::OnReport note = [&](const std::string& text) {
    CHECK(callers.results.empty());
    seen.push_back(text);
  };
  std::binary_semaphore go_on(0);
  const Work::Job job = [&](const std::stop_token&, const Work::Report& report) {
    go_on.acquire();
    report("one");
    report("two");
    return 1;
  };
  callers.spawn(job, note);
  callers.spawn(job, note);
  callers.spawn(job);
  asio::post(callers.loop, [&] { go_on.release(); });
  callers.loop.run();
  CHECK(seen == std::vector<std::string>{"one", "one", "two", "two"});
}

TEST_CASE("work that no caller waits for any more is stopped with its owner") {
  std::atomic<bool> ended = false;
  {
    Callers callers;
    callers.spawn_cancelled([&](const std::stop_token& stop, const Work::Report&) {
      wait_for_stop(stop);
      ended = true;
      return 1;
    });
    while (callers.cancelled == 0) callers.loop.run_one();
  }
  CHECK(ended);
}
