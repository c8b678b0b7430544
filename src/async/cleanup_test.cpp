#include "async/cleanup.h"

#include "async/event.h"
#include "base/error.h"
#include "tests/support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <string>

using namespace hearth;

namespace {

struct Scene {
  asio::io_context loop{1};
  AsyncEvent gate{loop.get_executor()};
  std::string log;
};

Task<std::unique_ptr<int>> succeed() { co_return std::make_unique<int>(7); }

Task<std::unique_ptr<int>> fail() {
  throw Error("the work failed");
  co_return nullptr;
}

Task<> fail_to_clean_up() {
  throw Error("the clean-up failed");
  co_return;
}

Task<> clean_up(Scene& scene) {
  scene.log += "cleaning,";
  co_await asio::post(asio::use_awaitable);
  scene.log += "clean,";
}

Task<> wait_at_gate(Scene& scene, std::string name) {
  scene.log += name + " waits,";
  co_await scene.gate.wait();
  scene.log += name + " passed,";
}

Task<> work_then_go_on(Scene& scene, Task<> work, Task<> clean_up_after) {
  co_await then_clean_up(std::move(work), std::move(clean_up_after));
  scene.log += "returned,";
  co_await asio::post(asio::use_awaitable);
  scene.log += "went on,";
}

struct Running {
  asio::cancellation_signal cancel;
  std::exception_ptr failure;

  void start(Scene& scene, Task<> task) {
    asio::co_spawn(
        scene.loop, std::move(task),
        asio::bind_cancellation_slot(
            cancel.slot(), [this](const std::exception_ptr& thrown) { failure = thrown; }));
    scene.loop.poll();
  }
  void stop(Scene& scene) {
    cancel.emit(asio::cancellation_type::terminal);
    scene.loop.poll();
  }
  bool was_aborted() const try {
    if (failure) std::rethrow_exception(failure);
    return false;
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  }
};

}  // namespace

TEST_CASE("a clean-up runs after work that succeeds, and the result is kept") {
  Scene scene;
  CHECK(*test::run_task(scene.loop, then_clean_up(succeed(), clean_up(scene))) == 7);
  CHECK(scene.log == "cleaning,clean,");
}

TEST_CASE("a clean-up runs after work that fails, and the failure is thrown") {
  Scene scene;
  CHECK_THROWS_WITH_AS(test::run_task(scene.loop, then_clean_up(fail(), clean_up(scene))),
                       "the work failed", Error);
  CHECK(scene.log == "cleaning,clean,");
}

TEST_CASE("of two failures that of the work is thrown") {
  Scene scene;
  CHECK_THROWS_WITH_AS(test::run_task(scene.loop, then_clean_up(fail(), fail_to_clean_up())),
                       "the work failed", Error);
  CHECK_THROWS_WITH_AS(test::run_task(scene.loop, then_clean_up(succeed(), fail_to_clean_up())),
                       "the clean-up failed", Error);
}

TEST_CASE("a clean-up for failures runs after these only") {
  Scene scene;
  CHECK(*test::run_task(scene.loop, or_clean_up(succeed(), clean_up(scene))) == 7);
  CHECK(scene.log.empty());
  CHECK_THROWS_WITH_AS(test::run_task(scene.loop, or_clean_up(fail(), clean_up(scene))),
                       "the work failed", Error);
  CHECK(scene.log == "cleaning,clean,");
}

TEST_CASE("work that is cancelled is cleaned up after to the end") {
  Scene scene;
  Running task;
  task.start(scene, work_then_go_on(scene, wait_at_gate(scene, "work"), clean_up(scene)));
  task.stop(scene);
  CHECK(scene.log == "work waits,cleaning,clean,");
  CHECK(task.was_aborted());
}

TEST_CASE("a clean-up cannot be cancelled, and the cancellation takes effect after it") {
  Scene scene;
  Running task;
  task.start(scene, work_then_go_on(scene, clean_up(scene), wait_at_gate(scene, "clean-up")));
  task.stop(scene);
  CHECK(scene.log == "cleaning,clean,clean-up waits,");
  scene.gate.notify_all();
  scene.loop.poll();
  CHECK(scene.log == "cleaning,clean,clean-up waits,clean-up passed,returned,");
  CHECK(task.was_aborted());
}
