// pool/docker_sources.h: containers for a pool: the builder's images in the Docker backend's hands.
#pragma once

#include "async/mutex.h"
#include "backend/sandbox.h"
#include "builder/image_builder.h"
#include "docker/docker_source.h"

#include <memory>
#include <string>
#include <vector>

namespace hearth::pool {

class DockerSources : public backend::SourceFactory {
 public:
  // `registry` and `builder` must outlive it. The engine is asked for by the first open().
  DockerSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                builder::ImageBuilder& builder, docker::DockerEngineOptions options);

  Task<std::unique_ptr<backend::SandboxSource>> open(std::string blueprint,
                                                     std::vector<blueprint::Mount> mounts,
                                                     OnProgress on_progress) override;
  // A container takes a quarter of a second to start, and a reset a few milliseconds.
  std::uint64_t usual_max_uses() const override { return 50; }

 private:
  Task<std::shared_ptr<docker::DockerEngine>> host();

  asio::any_io_executor executor_;
  const registry::ToolRegistry& registry_;
  builder::ImageBuilder& builder_;
  docker::DockerEngineOptions options_;
  Mutex opening_;
  std::shared_ptr<docker::DockerEngine> host_;
};

}  // namespace hearth::pool
