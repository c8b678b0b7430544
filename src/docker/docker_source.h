// docker/docker_source.h: sandboxes that are containers of one image.
#pragma once

#include "async/task_group.h"
#include "backend/sandbox.h"
#include "docker/container.h"
#include "docker/container_spec.h"
#include "docker/docker_engine.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace hearth::docker {

class DockerSource : public backend::SandboxSource {
 public:
  // Builds an image again that was removed from the engine, and returns its tag.
  using Rebuild = std::function<Task<std::string>()>;

  // `mounts` as the engine's machine sees them. Throws Error if one is unsafe (mount_check.h).
  DockerSource(const asio::any_io_executor& executor, std::shared_ptr<DockerEngine> engine,
               std::string image, blueprint::SandboxConfig config,
               std::vector<blueprint::Mount> mounts, Rebuild rebuild = {});

  Task<std::unique_ptr<backend::Sandbox>> spawn() override;
  Task<> close() override;

  // Before the first spawn: containers have the tools of this directory of the engine's machine
  // instead of those of the image.
  void show_tools(std::string directory);

  DockerEngine& engine() { return *engine_; }
  const ContainerOrder& order() const { return order_; }

  // Retries until the engine has removed it. Does nothing if that is in progress, or after close(),
  // which removes all.
  void remove_in_background(const std::shared_ptr<Container>& container);

 private:
  Task<std::unique_ptr<backend::Sandbox>> make(std::shared_ptr<Container> container);
  Task<> create(Container& container);
  Task<> create_anew(Container& container);
  Task<> watch(std::shared_ptr<Container> container, std::unique_ptr<HttpConnection> waiting);
  Task<> learn_fate(Container& container);
  Task<> remove(std::shared_ptr<Container> container);
  Task<> remove_and_await_end(std::shared_ptr<Container> container);
  static Task<> insist(std::shared_ptr<Container> container);
  Task<bool> try_to_remove(const Container& container);

  asio::any_io_executor executor_;
  std::shared_ptr<DockerEngine> engine_;
  ContainerOrder order_;
  Rebuild rebuild_;
  std::set<std::shared_ptr<Container>> living_;  // requested, and not known to be removed
  bool is_closed_ = false;
  TaskGroup background_;
};

}  // namespace hearth::docker
