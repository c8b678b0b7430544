// tests/support/docker_pool.h: a pool of containers, for tests.
#pragma once

#include "docker/container_spec.h"
#include "execution/turn.h"
#include "os/read_file.h"
#include "runtime/runtime.h"
#include "tests/support/docker_engine.h"
#include "tests/support/run_task.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

struct DockerPool {
  // On the engine that `settings` name, or else on that of the tests.
  explicit DockerPool(std::vector<blueprint::SandboxConfig> configs,
                      settings::Settings settings = {}, runtime::RuntimeOptions options = {},
                      settings::Env env = {})
      : runtime(runtime::Runtime::open(loop.get_executor(),
                                       docker_settings(state.path(), std::move(settings), configs),
                                       std::move(env), std::move(options))),
        registry(runtime->registry()),
        pool(runtime->pool()) {}
  ~DockerPool() { run_task(loop, runtime->close()); }
  DockerPool(const DockerPool&) = delete;
  DockerPool& operator=(const DockerPool&) = delete;

  std::string tag_of(const std::string& name) const {
    return builder::image_tag(builder::plan_of(registry, name), image_options());
  }
  void startup() { run_task(loop, pool.startup()); }
  // All of one owner, so that a container may be reused.
  pool::Lease checkout(pool::CheckoutOptions options = {}, const std::string& name = "default") {
    if (!options.owner) options.owner = "tests";
    return run_task(loop, pool.checkout(name, std::move(options)));
  }
  execution::ExecutionResult turn(pool::Lease& lease, const std::string& script) {
    return run_task(loop, execution::run_turn(lease, {.script = script}));
  }
  pool::FleetStats stats() const { return pool.stats().blueprints.at("default"); }
  // What goes on in the background goes on until this holds.
  template <typename Condition>
  void run_until(const Condition& holds) {
    while (!holds()) run_for(std::chrono::milliseconds(10));
  }
  void run_for(std::chrono::milliseconds time) {
    loop.restart();
    loop.run_for(time);
  }
  // As the engine knows this installation.
  std::string owner() const {
    return std::string(docker::owner_label) + '=' +
           os::read_file(state.path() / "docker" / "owner", 100);
  }

  TemporaryDirectory state;
  asio::io_context loop{1};
  std::unique_ptr<runtime::Runtime> runtime;
  registry::ToolRegistry& registry;
  pool::SandboxPool& pool;
};

}  // namespace hearth::test
