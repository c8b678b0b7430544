#include "async/shielded.h"

#include "base/error.h"
#include "tests/support/run_task.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <string>

using namespace hearth;

namespace {

struct Scene {
  asio::io_context loop{1};
  asio::steady_timer gate{loop, asio::steady_timer::time_point::max()};
  bool was_interrupted = false;
  std::string result;
  bool went_on = false;
};

Task<std::string> wait_at_gate(Scene& scene) {
  co_await scene.gate.async_wait(asio::as_tuple(asio::use_awaitable));
  const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
  scene.was_interrupted = task.cancelled() != asio::cancellation_type::none;
  co_await asio::post(asio::use_awaitable);
  co_return "through";
}

Task<> pass_and_go_on(Scene& scene) {
  scene.result = co_await shielded(wait_at_gate(scene));
  co_await asio::post(asio::use_awaitable);
  scene.went_on = true;
}

Task<std::string> fail() {
  throw Error("no luck");
  co_return "";
}

}  // namespace

TEST_CASE("shielded work comes to its end, and its task's cancellation is not forgotten") {
  Scene scene;
  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  asio::co_spawn(scene.loop, pass_and_go_on(scene),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](const std::exception_ptr& thrown) { failure = thrown; }));
  scene.loop.poll();
  cancel.emit(asio::cancellation_type::terminal);
  scene.loop.poll();
  CHECK(scene.result.empty());
  scene.gate.cancel();
  scene.loop.run();
  CHECK_FALSE(scene.was_interrupted);
  CHECK(scene.result == "through");
  CHECK_FALSE(scene.went_on);
  REQUIRE(failure);
  CHECK_THROWS_AS(std::rethrow_exception(failure), boost::system::system_error);
}

TEST_CASE("shielded work that is not cancelled is like any other") {
  Scene scene;
  asio::co_spawn(scene.loop, pass_and_go_on(scene), [](const std::exception_ptr&) {});
  scene.loop.poll();
  scene.gate.cancel();
  scene.loop.run();
  CHECK(scene.went_on);
  asio::io_context loop(1);
  CHECK_THROWS_WITH_AS(test::run_task(loop, shielded(fail())), "no luck", Error);
}
