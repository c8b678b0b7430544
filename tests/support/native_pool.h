// tests/support/native_pool.h: a pool of real sandboxes, for tests.
#pragma once

#include "execution/turn.h"
#include "runtime/runtime.h"
#include "tests/support/native_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

inline blueprint::SandboxConfig pool_config(const std::string& name = "default",
                                            std::int64_t pool_size = 2) {
  static const blueprint::SandboxConfig plain = runtime::plain_blueprint();
  blueprint::SandboxConfig config = plain;
  config.name = name;
  config.pool_size = pool_size;
  return config;
}

inline settings::PoolSettings pool_options(std::int64_t max_uses = 1,
                                           std::int64_t max_overflow = 1) {
  settings::PoolSettings pool;
  pool.max_uses = max_uses;
  pool.max_overflow = max_overflow;
  return pool;
}

class NativePool {
 public:
  explicit NativePool(std::vector<blueprint::SandboxConfig> configs = {pool_config()},
                      settings::PoolSettings wanted = pool_options(),
                      std::vector<registry::Tool> tools = {},
                      runtime::RuntimeOptions options = {}) {
    settings::Settings settings = native_settings(state.path());
    settings.pool = std::move(wanted);
    settings.blueprints = std::move(configs);
    runtime =
        runtime::Runtime::open(loop.get_executor(), std::move(settings), {}, std::move(options));
    runtime->registry().register_tools(std::move(tools));
    pool = &runtime->pool();
  }
  ~NativePool() {
    if (runtime) run(runtime->close());
  }
  NativePool(const NativePool&) = delete;
  NativePool& operator=(const NativePool&) = delete;

  template <typename T>
  T run(Task<T> task) {
    return run_task(loop, std::move(task));
  }
  void startup() { run(pool->startup()); }
  // All of one owner, so that a sandbox may be reused.
  pool::Lease checkout(pool::CheckoutOptions options = {}) {
    if (!options.owner) options.owner = "tests";
    return run(pool->checkout("default", std::move(options)));
  }
  execution::ExecutionResult turn(pool::Lease& lease, const std::string& script) {
    return run(execution::run_turn(lease, {.script = script}));
  }
  pool::FleetStats stats(const std::string& name = "default") const {
    return pool->stats().blueprints.at(name);
  }
  // What goes on in the background goes on until this holds. A test that waits for what never comes
  // is ended by its time limit.
  template <typename Condition>
  void run_until(const Condition& holds) {
    while (!holds()) {
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(10));
    }
  }

  TemporaryDirectory state;
  asio::io_context loop{1};
  std::unique_ptr<runtime::Runtime> runtime;
  pool::SandboxPool* pool = nullptr;  // of `runtime`
};

}  // namespace hearth::test
