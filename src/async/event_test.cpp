#include "async/event.h"

#include "async/within.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <string>

using namespace hearth;

namespace {

struct Scene {
  asio::io_context loop{1};
  AsyncEvent event{loop.get_executor()};
  bool holds = false;
  std::string passed;  // one letter for each task that waited, in this order
};

Task<> pass_when_it_holds(Scene& scene, char name) {
  co_await scene.event.wait_until([&scene] { return scene.holds; });
  scene.passed += name;
  co_await asio::post(asio::use_awaitable);
  scene.passed += '+';
}

Task<> pass_at_next(Scene& scene, char name) {
  co_await scene.event.wait();
  scene.passed += name;
}

struct Running {
  asio::cancellation_signal cancel;
  bool ended = false;
  std::exception_ptr failure;

  void start(Scene& scene, Task<> task) {
    asio::co_spawn(
        scene.loop, std::move(task),
        asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr& thrown) {
          ended = true;
          failure = thrown;
        }));
    scene.loop.poll();
  }
  void stop() { cancel.emit(asio::cancellation_type::terminal); }
  bool was_aborted() const try {
    if (failure) std::rethrow_exception(failure);
    return false;
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  }
};

}  // namespace

TEST_CASE("a task waits until its condition holds, not only until a notification") {
  Scene scene;
  Running task;
  task.start(scene, pass_when_it_holds(scene, 'a'));
  scene.event.notify_all();
  scene.loop.poll();
  CHECK_FALSE(task.ended);
  scene.holds = true;
  scene.loop.poll();
  CHECK_FALSE(task.ended);
  scene.event.notify_all();
  scene.loop.poll();
  CHECK(scene.passed == "a+");
}

TEST_CASE("a condition that holds already is not waited for") {
  Scene scene;
  scene.holds = true;
  Running task;
  task.start(scene, pass_when_it_holds(scene, 'a'));
  CHECK(scene.passed == "a+");
}

TEST_CASE("a cancelled task throws, and the others wait on") {
  Scene scene;
  Running cancelled;
  Running other;
  cancelled.start(scene, pass_when_it_holds(scene, 'a'));
  other.start(scene, pass_when_it_holds(scene, 'b'));
  cancelled.stop();
  scene.loop.poll();
  CHECK(cancelled.was_aborted());
  CHECK_FALSE(other.ended);
  scene.holds = true;
  scene.event.notify_all();
  scene.loop.poll();
  CHECK(scene.passed == "b+");
}

TEST_CASE("a condition that comes true as its task is cancelled wins, and the task ends after it") {
  for (const bool is_notified : {true, false}) {
    CAPTURE(is_notified);
    Scene scene;
    Running task;
    task.start(scene, pass_when_it_holds(scene, 'a'));
    task.stop();
    scene.holds = true;
    if (is_notified) scene.event.notify_all();
    scene.loop.poll();
    CHECK(scene.passed == "a");
    CHECK(task.was_aborted());
  }
}

TEST_CASE("a notification for one wakes the task that has waited longest") {
  Scene scene;
  Running first;
  Running second;
  first.start(scene, pass_at_next(scene, 'a'));
  second.start(scene, pass_at_next(scene, 'b'));
  scene.event.notify_one();
  scene.loop.poll();
  CHECK(scene.passed == "a");
  scene.event.notify_one();
  scene.loop.poll();
  CHECK(scene.passed == "ab");
}

TEST_CASE("a task that is cancelled while it waits for a notification throws") {
  Scene scene;
  Running task;
  task.start(scene, pass_at_next(scene, 'a'));
  task.stop();
  scene.loop.poll();
  CHECK(task.was_aborted());
  CHECK(scene.passed.empty());
}
