// tests/support/any_backend.h: sandboxes of one blueprint, whichever backend makes them, for the
// cases that must hold on all of them.
#pragma once

#include "execution/script_executor.h"
#include "execution/turn.h"
#include "pool/docker_sources.h"
#include "pool/native_sources.h"
#include "tests/support/docker_engine.h"
#include "tests/support/native_pool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

class AnyBackend {
 public:
  AnyBackend(blueprint::SandboxConfig config, std::vector<registry::Tool> tools) {
    name_ = config.name;
    for (const blueprint::FileResource& resource : config.resources)
      mounts_.push_back(blueprint::mount_of(resource));
    registry_.register_blueprint(std::move(config));
    registry_.register_tools(std::move(tools));
  }
  virtual ~AnyBackend() { close(); }
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
  execution::ExecutionResult run_in(backend::Sandbox& sandbox, wire::RunRequest request) {
    execution::ScriptExecutor executor(sandbox);
    return run_task(loop_, executor.run(std::move(request)));
  }
  // One script in a sandbox of its own.
  execution::ExecutionResult run(const std::string& script, double timeout_seconds = 20) {
    const std::unique_ptr<backend::Sandbox> sandbox = spawn();
    return run_in(*sandbox, script, timeout_seconds);
  }

 protected:
  void open() { source_ = run_task(loop_, sources_->open(name_, mounts_, {})); }
  void close() {
    if (source_) run_task(loop_, source_->close());
    source_.reset();
  }

  TemporaryDirectory state_;
  asio::io_context loop_{1};
  registry::ToolRegistry registry_;
  std::string name_;
  std::vector<blueprint::Mount> mounts_;
  std::unique_ptr<builder::SandboxBuilder> builder_;
  std::unique_ptr<backend::SourceFactory> sources_;
  std::unique_ptr<backend::SandboxSource> source_;
};

class NativeBackend : public AnyBackend {
 public:
  static blueprint::SandboxConfig config() { return pool_config(); }
  explicit NativeBackend(blueprint::SandboxConfig config = NativeBackend::config(),
                         std::vector<registry::Tool> tools = {})
      : AnyBackend(std::move(config), std::move(tools)) {
    builder::NativeBuilderOptions options;
    options.build.state_dir = state_.path();
    auto builder =
        std::make_unique<builder::NativeBuilder>(loop_.get_executor(), registry_, options);
    sources_ = std::make_unique<pool::NativeSources>(loop_.get_executor(), registry_, *builder,
                                                     native_host());
    builder_ = std::move(builder);
    open();
  }
};

class DockerBackend : public AnyBackend {
 public:
  static blueprint::SandboxConfig config() { return docker_config(); }
  explicit DockerBackend(blueprint::SandboxConfig config = DockerBackend::config(),
                         std::vector<registry::Tool> tools = {}, std::string runtime = {})
      : AnyBackend(std::move(config), std::move(tools)) {
    auto builder = std::make_unique<builder::ImageBuilder>(loop_.get_executor(), registry_,
                                                           engine_address(), image_options());
    docker::DockerEngineOptions options = docker_host_options(state_.path());
    options.runtime = std::move(runtime);
    sources_ = std::make_unique<pool::DockerSources>(loop_.get_executor(), registry_, *builder,
                                                     std::move(options));
    builder_ = std::move(builder);
    open();
  }
};

}  // namespace hearth::test

// For TEST_CASE_TEMPLATE.
#define ON_EVERY_BACKEND hearth::test::NativeBackend, hearth::test::DockerBackend
