#include "runtime/docker_backend.h"

#include "base/log.h"
#include "os/read_file.h"
#include "runtime/build_options.h"
#include "runtime/state_directory.h"

#include <filesystem>
#include <utility>

namespace hearth::runtime {
namespace {

constexpr std::size_t most_netrc_bytes = 1 << 20;

builder::ImageOptions image_options(const BackendContext& context) {
  const settings::DockerSettings& docker = context.settings.docker;
  const builder::BuildOptions build = build_options(context);
  builder::ImageOptions options;
  options.prefix = docker.image_prefix;
  options.base_image = docker.base_image;
  options.build_image = docker.build_image;
  options.has_tools = docker.tools == settings::ToolPlace::image;
  options.network = docker.build_network;
  options.pip = build.pip;
  options.build_timeout = build.build_timeout;
  options.state_dir = build.state_dir;
  options.configuration = build.configuration;
  options.programs = backend::find_programs(context.programs);
  const auto netrc = context.env.find("NETRC");
  if (netrc != context.env.end() && std::filesystem::exists(netrc->second))
    options.netrc = os::read_file(netrc->second, most_netrc_bytes);
  return options;
}

}  // namespace

DockerBackend::DockerBackend(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                             builder::ImageOptions images, docker::DockerEngineOptions engine,
                             pool::HostPathMap host_paths)
    : executor_(std::move(executor)),
      registry_(registry),
      images_(std::move(images)),
      options_(std::move(engine)),
      host_paths_(std::move(host_paths)) {}

Task<std::shared_ptr<docker::DockerEngine>> DockerBackend::engine() {
  const Mutex::Lock lock = co_await opening_.lock();
  if (!engine_) engine_ = co_await docker::DockerEngine::open(options_);
  co_return engine_;
}

Task<builder::ImageBuilder*> DockerBackend::builder() {
  const Mutex::Lock lock = co_await opening_.lock();
  if (!builder_)
    builder_ =
        co_await builder::ImageBuilder::open(executor_, registry_, options_.address, images_);
  co_return builder_.get();
}

Task<std::vector<backend::Built>> DockerBackend::list() {
  co_return co_await (co_await builder())->list();
}

Task<std::vector<std::string>> DockerBackend::prune(backend::Prune how) {
  co_return co_await (co_await builder())->prune(how);
}

// Without an engine nothing is missing: only containers need it.
Task<std::vector<backend::Finding>> DockerBackend::examine() {
  backend::Finding finding{.what = "Docker"};
  try {
    docker::EngineClient client(options_.address);
    const docker::EngineIdentity identity = co_await client.ping();
    const docker::EngineAnswer info = co_await client.call({.path = "/info"});
    finding.found =
        docker::describe_engine(identity, info.body) + ", at " + options_.address.text();
  } catch (const std::exception& error) {
    log::debug("engine cannot be used", {{"error", error.what()}});
    finding.found = "no engine, and none needed; `hearth run --backend docker` says why";
  }
  co_return std::vector{finding};
}

Task<std::string> DockerBackend::build(std::string blueprint, backend::Freshness freshness,
                                       OnProgress on_progress) {
  builder::ImageBuilder* const images = co_await builder();
  if (freshness == backend::Freshness::anew)
    co_return co_await images->rebuild_sandbox(std::move(blueprint), std::move(on_progress));
  co_return co_await images->ensure_sandbox(std::move(blueprint), std::move(on_progress));
}

Task<std::string> DockerBackend::image_id(std::string blueprint, OnProgress on_progress) {
  builder::ImageBuilder* const images = co_await builder();
  co_return (co_await images->ensure_image(std::move(blueprint), std::move(on_progress))).id;
}

Task<std::unique_ptr<backend::SandboxSource>> DockerBackend::open(
    std::string blueprint, std::vector<blueprint::Mount> mounts, OnProgress on_progress) {
  const blueprint::SandboxConfig& config = registry_.blueprint(blueprint);
  // First: where there is no engine, its absence is the error, not that of an image.
  const std::shared_ptr<docker::DockerEngine> opened = co_await engine();
  std::string image = co_await image_id(blueprint, std::move(on_progress));
  auto rebuild = [this, blueprint] { return image_id(blueprint, {}); };
  auto source = std::make_unique<docker::DockerSource>(executor_, opened, std::move(image), config,
                                                       std::move(mounts), std::move(rebuild));
  if (!images_.has_tools) {
    const std::string tools = opened->shown_tools().directory_of(tool_files(blueprint)).string();
    source->show_tools(host_paths_.resolve(tools).value_or(tools));
  }
  co_return source;
}

std::vector<docker::ToolFile> DockerBackend::tool_files(const std::string& blueprint) const {
  std::vector<docker::ToolFile> files;
  for (const registry::Tool* tool : registry_.tools_of(blueprint))
    files.push_back({tool->config.name, tool->source});
  return files;
}

std::unique_ptr<backend::Backend> open_docker_backend(const BackendContext& context) {
  docker::DockerEngineOptions options;
  options.address = docker::choose_engine_address(context.settings.docker.host, context.env);
  options.runtime = context.settings.docker.runtime;
  options.state_dir = state_directory(context.settings, context.env);
  return std::make_unique<DockerBackend>(context.executor, context.registry, image_options(context),
                                         std::move(options),
                                         pool::HostPathMap(context.settings.host_path_map));
}

}  // namespace hearth::runtime
