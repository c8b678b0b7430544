#include "pool/docker_sources.h"

#include "base/log.h"

#include <utility>

namespace hearth::pool {

DockerSources::DockerSources(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                             builder::ImageBuilder& builder, docker::DockerEngineOptions options)
    : executor_(std::move(executor)),
      registry_(registry),
      builder_(builder),
      options_(std::move(options)) {}

Task<std::shared_ptr<docker::DockerEngine>> DockerSources::host() {
  const Mutex::Lock lock = co_await opening_.lock();
  if (!host_) host_ = co_await docker::DockerEngine::open(options_);
  co_return host_;
}

Task<std::unique_ptr<backend::SandboxSource>> DockerSources::open(
    std::string blueprint, std::vector<blueprint::Mount> mounts, OnProgress on_progress) {
  const blueprint::SandboxConfig& config = registry_.blueprint(blueprint);
  if (!blueprint::is_isolated(config))
    log::warning("the blueprint allows hosts, but there is no way out yet: no network",
                 {{"blueprint", blueprint}});
  // First: where there is no engine, its absence is the error, not that of an image.
  const std::shared_ptr<docker::DockerEngine> engine = co_await host();
  std::string image = co_await builder_.ensure_sandbox(blueprint, std::move(on_progress));
  auto rebuild = [this, blueprint] { return builder_.ensure_sandbox(blueprint, {}); };
  co_return std::make_unique<docker::DockerSource>(executor_, engine, std::move(image), config,
                                                   std::move(mounts), std::move(rebuild));
}

}  // namespace hearth::pool
