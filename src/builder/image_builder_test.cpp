#include "builder/image_builder.h"

#include "tests/support/fake_engine.h"
#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

namespace hearth::builder {
namespace {

std::unique_ptr<ImageBuilder> open_builder(asio::io_context& loop,
                                           const registry::ToolRegistry& registry,
                                           const docker::EngineAddress& engine) {
  return test::run_task(loop, ImageBuilder::open(loop.get_executor(), registry, engine, {}));
}

}  // namespace

TEST_CASE("B1: a builder asks its engine when it is opened") {
  asio::io_context loop(1);
  const registry::ToolRegistry registry;
  test::FakeEngine engine(loop);
  SUBCASE("that answers") {
    engine.will_say(test::pong);
    CHECK(open_builder(loop, registry, engine.address()) != nullptr);
  }
  SUBCASE("that is ill") {
    engine.will_say(test::answer("500 Internal Server Error", R"({"message":"no disk"})"));
    CHECK_THROWS_WITH_AS(open_builder(loop, registry, engine.address()),
                         doctest::Contains("no disk"), docker::EngineError);
  }
  CHECK(engine.requests == std::vector<std::string>{"GET /_ping HTTP/1.1"});
}

TEST_CASE("B1: without an engine no builder is opened, and the error says what to do") {
  asio::io_context loop(1);
  const registry::ToolRegistry registry;
  const test::TemporaryDirectory place;
  CHECK_THROWS_WITH_AS(
      open_builder(loop, registry, {.socket = (place.path() / "docker.sock").string()}),
      doctest::Contains("cannot be reached (No such file or directory): "),
      docker::EngineUnreachable);
}

}  // namespace hearth::builder
