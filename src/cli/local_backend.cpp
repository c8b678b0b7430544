#include "cli/local_backend.h"

#include "cli/local_setup.h"
#include "os/read_file.h"
#include "pool/docker_sources.h"
#include "pool/host_path_map.h"
#include "pool/native_sources.h"

#include <unistd.h>

#include <utility>

namespace hearth::cli {
namespace {

constexpr std::size_t most_netrc_bytes = 1 << 20;

docker::EngineAddress engine_address(const RunPlan& plan, const settings::Env& environment) {
  return docker::choose_engine_address(plan.settings.docker.host, environment);
}

// Of an engine that is there although native sandboxes are wanted: it is not shown to them.
std::vector<std::string> engine_socket(const RunPlan& plan, const settings::Env& environment) try {
  return {engine_address(plan, environment).socket};
} catch (const Error&) {
  return {};  // an engine elsewhere, by ssh say
}

std::unique_ptr<builder::ImageBuilder> image_builder(const asio::any_io_executor& executor,
                                                     const RunPlan& plan,
                                                     const settings::Env& environment) {
  const builder::BuildOptions build = builder_options(plan.settings, environment).build;
  builder::ImageOptions options;
  options.prefix = plan.settings.docker.image_prefix;
  options.base_image = plan.settings.docker.base_image;
  options.network = plan.settings.docker.build_network;
  options.pip = build.pip;
  options.build_timeout = build.build_timeout;
  options.programs = backend::find_programs();
  const auto netrc = environment.find("NETRC");
  if (netrc != environment.end() && std::filesystem::exists(netrc->second))
    options.netrc = os::read_file(netrc->second, most_netrc_bytes);
  return std::make_unique<builder::ImageBuilder>(
      executor, plan.registry, engine_address(plan, environment), std::move(options));
}

std::unique_ptr<builder::NativeBuilder> native_builder(const asio::any_io_executor& executor,
                                                       const RunPlan& plan,
                                                       const settings::Env& environment) {
  return std::make_unique<builder::NativeBuilder>(executor, plan.registry,
                                                  builder_options(plan.settings, environment));
}

bool wants_docker(const RunPlan& plan) {
  return plan.settings.pool.backend == settings::Backend::docker;
}

}  // namespace

std::unique_ptr<builder::SandboxBuilder> open_builder(const asio::any_io_executor& executor,
                                                      const RunPlan& plan,
                                                      const settings::Env& environment) {
  if (wants_docker(plan)) return image_builder(executor, plan, environment);
  return native_builder(executor, plan, environment);
}

LocalBackend open_backend(const asio::any_io_executor& executor, const RunPlan& plan,
                          const settings::Env& environment, bool allow_degraded) {
  if (wants_docker(plan)) {
    auto builder = image_builder(executor, plan, environment);
    docker::DockerEngineOptions options;
    options.address = engine_address(plan, environment);
    options.runtime = plan.settings.docker.runtime;
    options.state_dir = state_directory(plan.settings, environment, ::geteuid() == 0);
    auto sources = std::make_unique<pool::DockerSources>(executor, plan.registry, *builder,
                                                         std::move(options));
    return {std::move(builder), std::move(sources)};
  }
  native::NativeMachineOptions options;
  options.allow_degraded = allow_degraded || plan.settings.native.allow_degraded;
  if (plan.settings.native.zygote == settings::Zygote::per_sandbox)
    options.zygotes = native::Zygotes::per_sandbox;
  options.use_large_pages = plan.settings.native.large_pages == settings::LargePages::automatic;
  auto host = native::open_native_machine(options);
  auto builder = native_builder(executor, plan, environment);
  auto sources = std::make_unique<pool::NativeSources>(
      executor, plan.registry, *builder, std::move(host), engine_socket(plan, environment));
  return {std::move(builder), std::move(sources)};
}

std::vector<blueprint::Mount> mounts_of(const RunPlan& plan) {
  const pool::HostPathMap map(plan.settings.host_path_map);
  std::vector<blueprint::Mount> mounts;
  for (const blueprint::FileResource& resource : plan.registry.blueprint(plan.blueprint).resources)
    mounts.push_back(blueprint::mount_of(resource, map.resolve(resource.host_path)));
  return mounts;
}

}  // namespace hearth::cli
