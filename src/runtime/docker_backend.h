// runtime/docker_backend.h: sandboxes that are containers: the builder's images, and the sources
// that make containers of them.
#pragma once

#include "async/mutex.h"
#include "builder/image_builder.h"
#include "docker/docker_source.h"
#include "pool/host_path_map.h"
#include "runtime/backends.h"

#include <memory>
#include <string>
#include <vector>

namespace hearth::runtime {

class DockerBackend : public backend::Backend {
 public:
  // `registry` must outlive it. The first use asks the engine. `host_paths`: of tools that are
  // mounted.
  DockerBackend(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                builder::ImageOptions images, docker::DockerEngineOptions engine,
                pool::HostPathMap host_paths = pool::HostPathMap());

  Task<std::string> build(std::string blueprint, backend::Freshness freshness,
                          OnProgress on_progress) override;
  Task<std::unique_ptr<backend::SandboxSource>> open(std::string blueprint,
                                                     std::vector<blueprint::Mount> mounts,
                                                     OnProgress on_progress) override;
  Task<std::vector<backend::Built>> list() override;
  Task<std::vector<std::string>> prune(backend::Prune how) override;
  Task<std::vector<backend::Finding>> examine() override;
  // A container takes a quarter of a second to start, and a reset a few milliseconds.
  std::uint64_t usual_max_uses() const override { return 50; }

 private:
  Task<std::shared_ptr<docker::DockerEngine>> engine();
  Task<builder::ImageBuilder*> builder();
  std::vector<docker::ToolFile> tool_files(const std::string& blueprint) const;
  // Containers are of an id: a tag may be moved under a living pool, to other packages.
  Task<std::string> image_id(std::string blueprint, OnProgress on_progress);

  asio::any_io_executor executor_;
  const registry::ToolRegistry& registry_;
  builder::ImageOptions images_;
  docker::DockerEngineOptions options_;
  pool::HostPathMap host_paths_;
  Mutex opening_;
  std::shared_ptr<docker::DockerEngine> engine_;
  std::unique_ptr<builder::ImageBuilder> builder_;
};

// Error if the address of the engine cannot be used.
std::unique_ptr<backend::Backend> open_docker_backend(const BackendContext& context);

}  // namespace hearth::runtime
