#include "runtime/runtime.h"

#include "execution/turn.h"
#include "tests/support/fake_backend.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

using namespace hearth;
using namespace hearth::test;

namespace {

settings::Settings settings_for(const std::string& backend) {
  settings::Settings settings;
  settings.pool.backend = backend;
  settings.blueprints = {{.name = "default", .pool_size = 1}};
  return settings;
}

// The usual ones, and one that exists in memory only.
runtime::BackendTable with_memory_backend() {
  runtime::BackendTable backends = runtime::usual_backends();
  backends.push_back({"memory", [](const runtime::BackendContext& context) {
                        auto backend = std::make_unique<FakeBackend>(context.executor);
                        backend->answer = [](const std::string& script) { return "ran " + script; };
                        return backend;
                      }});
  return backends;
}

Task<std::string> one_turn(runtime::Runtime& runtime) {
  co_await runtime.pool().startup();
  pool::Lease lease = co_await runtime.pool().checkout("default");
  const execution::ExecutionResult result =
      co_await execution::run_turn(lease, {.script = "x = 1"});
  co_return result.stdout_text;
}

}  // namespace

TEST_CASE("a third backend is one line of the table, and runs a turn") {
  asio::io_context loop(1);
  const auto runtime = runtime::Runtime::open(loop.get_executor(), settings_for("memory"), {},
                                              {.backends = with_memory_backend()});
  CHECK(run_task(loop, one_turn(*runtime)) == "ran x = 1");
  run_task(loop, runtime->close());
  CHECK(runtime->pool().live_ids().empty());
}

TEST_CASE("a backend that is not in the table is refused with those that are") {
  asio::io_context loop(1);
  CHECK_THROWS_WITH_AS(
      runtime::Runtime::open(loop.get_executor(), settings_for("memroy"), {},
                             {.backends = with_memory_backend()}),
      doctest::Contains("pool.backend must be one of native, docker, memory, is \"memroy\"; did "
                        "you mean \"memory\"?"),
      blueprint::ConfigError);
}

TEST_CASE("what is registered before the pool starts counts") {
  asio::io_context loop(1);
  settings::Settings settings = settings_for("memory");
  settings.blueprints.clear();
  const auto runtime = runtime::Runtime::open(loop.get_executor(), settings, {},
                                              {.backends = with_memory_backend()});
  runtime->registry().register_blueprint({.name = "default", .pool_size = 1});
  CHECK(run_task(loop, one_turn(*runtime)) == "ran x = 1");
  run_task(loop, runtime->close());
}

TEST_CASE("the blueprint of a backend without a Python of its own has the default one") {
  CHECK(runtime::plain_blueprint("docker") == blueprint::SandboxConfig{.name = "default"});
}
