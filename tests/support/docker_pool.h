// tests/support/docker_pool.h: a pool of containers, for tests.
#pragma once

#include "docker/container_spec.h"
#include "execution/turn.h"
#include "os/read_file.h"
#include "pool/docker_sources.h"
#include "pool/sandbox_pool.h"
#include "tests/support/docker_engine.h"
#include "tests/support/run_task.h"

#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

struct DockerPool {
  explicit DockerPool(std::vector<blueprint::SandboxConfig> configs, pool::PoolOptions options = {},
                      const docker::EngineAddress& engine = engine_address())
      : builder(loop.get_executor(), registered(registry, std::move(configs)), engine,
                image_options()),
        sources(loop.get_executor(), registry, builder, host_options(engine)),
        pool(loop.get_executor(), registry, sources, std::move(options)) {}
  ~DockerPool() { run_task(loop, pool.shutdown()); }
  DockerPool(const DockerPool&) = delete;
  DockerPool& operator=(const DockerPool&) = delete;

  static registry::ToolRegistry& registered(registry::ToolRegistry& registry,
                                            std::vector<blueprint::SandboxConfig> configs) {
    for (blueprint::SandboxConfig& config : configs) registry.register_blueprint(std::move(config));
    return registry;
  }
  docker::DockerEngineOptions host_options(const docker::EngineAddress& engine) const {
    docker::DockerEngineOptions options = docker_host_options(state.path());
    options.address = engine;
    return options;
  }
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
  registry::ToolRegistry registry;
  builder::ImageBuilder builder;
  pool::DockerSources sources;
  pool::SandboxPool pool;
};

}  // namespace hearth::test
