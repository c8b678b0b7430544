// tests/support/any_backend.h: sandboxes of one blueprint, whichever backend makes them, for the
// cases that must hold on all of them.
#pragma once

#include "execution/turn.h"
#include "runtime/runtime.h"
#include "tests/support/docker_engine.h"
#include "tests/support/native_pool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

class AnyBackend {
 public:
  virtual ~AnyBackend() {
    if (source_) run_task(loop_, source_->close());
  }
  AnyBackend(const AnyBackend&) = delete;
  AnyBackend& operator=(const AnyBackend&) = delete;

  asio::io_context& loop() { return loop_; }
  std::unique_ptr<backend::Sandbox> spawn() { return run_task(loop_, source_->spawn()); }
  execution::ExecutionResult run_in(backend::Sandbox& sandbox, const std::string& script,
                                    double timeout_seconds = 20,
                                    wire::Mode mode = wire::Mode::plan) {
    wire::RunRequest request;
    request.script = script;
    request.timeout_seconds = timeout_seconds;
    request.mode = mode;
    return run_in(sandbox, std::move(request));
  }
  execution::ExecutionResult run_in(backend::Sandbox& sandbox, execution::WireRequest request) {
    execution::ScriptExecutor executor(sandbox);
    return run_task(loop_, executor.run(std::move(request)));
  }
  // One script in a sandbox of its own.
  execution::ExecutionResult run(const std::string& script, double timeout_seconds = 20) {
    const std::unique_ptr<backend::Sandbox> sandbox = spawn();
    return run_in(*sandbox, script, timeout_seconds);
  }

 protected:
  AnyBackend() = default;
  void open(settings::Settings settings, blueprint::SandboxConfig config,
            std::vector<registry::Tool> tools) {
    const std::string name = config.name;
    std::vector<blueprint::Mount> mounts;
    for (const blueprint::FileResource& resource : config.resources)
      mounts.push_back(blueprint::mount_of(resource));
    settings.blueprints = {std::move(config)};
    runtime_ = runtime::Runtime::open(loop_.get_executor(), std::move(settings), {});
    runtime_->registry().register_tools(std::move(tools));
    source_ = run_task(loop_, runtime_->backend().open(name, mounts, {}));
  }

  TemporaryDirectory state_;

 private:
  asio::io_context loop_{1};
  std::unique_ptr<runtime::Runtime> runtime_;
  std::unique_ptr<backend::SandboxSource> source_;
};

class NativeBackend : public AnyBackend {
 public:
  static blueprint::SandboxConfig config() { return pool_config(); }
  explicit NativeBackend(blueprint::SandboxConfig config = NativeBackend::config(),
                         std::vector<registry::Tool> tools = {}) {
    open(native_settings(state_.path()), std::move(config), std::move(tools));
  }
};

class DockerBackend : public AnyBackend {
 public:
  static blueprint::SandboxConfig config() { return docker_config(); }
  explicit DockerBackend(blueprint::SandboxConfig config = DockerBackend::config(),
                         std::vector<registry::Tool> tools = {}, std::string runtime = {}) {
    settings::Settings settings = docker_settings(state_.path());
    settings.docker.runtime = std::move(runtime);
    open(std::move(settings), std::move(config), std::move(tools));
  }
};

}  // namespace hearth::test

// For TEST_CASE_TEMPLATE.
#define ON_EVERY_BACKEND hearth::test::NativeBackend, hearth::test::DockerBackend
