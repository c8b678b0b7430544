// tests/support/native_pool.h: a pool of real sandboxes, for tests.
#pragma once

#include "execution/turn.h"
#include "pool/native_sources.h"
#include "pool/sandbox_pool.h"
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
  blueprint::SandboxConfig config;
  config.name = name;
  static const builder::Python any = builder::find_python("3", builder::usual_python_directories());
  config.python_version = any.version;
  config.pool_size = pool_size;
  return config;
}

inline pool::PoolOptions pool_options(std::uint64_t max_uses = 1, std::size_t max_overflow = 1) {
  pool::PoolOptions options;
  options.max_uses = max_uses;
  options.fleet.max_overflow = max_overflow;
  return options;
}

class NativePool {
 public:
  explicit NativePool(std::vector<blueprint::SandboxConfig> configs = {pool_config()},
                      pool::PoolOptions options = pool_options(),
                      std::vector<registry::Tool> tools = {}) {
    for (blueprint::SandboxConfig& config : configs) registry.register_blueprint(std::move(config));
    registry.register_tools(std::move(tools));
    builder::NativeBuilderOptions builder_options;
    builder_options.build.state_dir = state.path();
    builder =
        std::make_unique<builder::NativeBuilder>(loop.get_executor(), registry, builder_options);
    sources = std::make_unique<pool::NativeSources>(loop.get_executor(), registry, *builder,
                                                    native_host());
    pool = std::make_unique<pool::SandboxPool>(loop.get_executor(), registry, *sources,
                                               std::move(options));
  }
  ~NativePool() {
    if (pool) run(pool->shutdown());
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
  registry::ToolRegistry registry;
  std::unique_ptr<builder::NativeBuilder> builder;
  std::unique_ptr<pool::NativeSources> sources;
  std::unique_ptr<pool::SandboxPool> pool;
};

}  // namespace hearth::test
