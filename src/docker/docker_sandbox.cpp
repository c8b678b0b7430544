#include "docker/docker_sandbox.h"

#include "base/joined.h"
#include "docker/json_path.h"

#include <boost/json.hpp>

#include <utility>

namespace hearth::docker {
namespace {

namespace json = boost::json;

constexpr std::size_t short_id_digits = 12;

}  // namespace

DockerSandbox::DockerSandbox(DockerSource& source, std::shared_ptr<Container> container,
                             std::unique_ptr<ContainerStream> stream)
    : source_(source),
      container_(std::move(container)),
      short_id_(container_->id.substr(0, short_id_digits)),
      stream_(*stream),
      channel_(std::unique_ptr<MessageStream>(std::move(stream))) {}

DockerSandbox::~DockerSandbox() { DockerSandbox::kill(); }

// Two ways, as one may fail: init exits when its stream ends, and the engine removes the container.
void DockerSandbox::kill() {
  stream_.hang_up();
  source_.remove_in_background(container_);
}

Task<backend::SandboxUsage> DockerSandbox::usage() const {
  const EngineAnswer stats = co_await source_.engine().client().call(
      {.path = "/containers/" + container_->id + "/stats?stream=false&one-shot=true"});
  backend::SandboxUsage usage;
  usage.memory_bytes = number_at(stats.body, {"memory_stats", "usage"});
  usage.cpu_seconds =
      static_cast<double>(number_at(stats.body, {"cpu_stats", "cpu_usage", "total_usage"})) / 1e9;
  co_return usage;
}

Task<> DockerSandbox::set_limits(blueprint::ResourceLimits limits) {
  co_await source_.engine().client().call(
      {.method = "POST",
       .path = "/containers/" + container_->id + "/update",
       .body = limits_body(limits, source_.order().host_cores)});
}

Task<> DockerSandbox::check_posture() const {
  const EngineAnswer found =
      co_await source_.engine().client().call({.path = "/containers/" + container_->id + "/json"});
  const std::vector<std::string> differences =
      differences_of(found.body, source_.order(), container_->user.uid());
  if (!differences.empty())
    throw backend::SpawnError("the sandbox is not what was asked for: " + joined(differences, "; "),
                              {});
}

Task<> DockerSandbox::probe() {
  constexpr std::chrono::seconds limit(5);
  co_await check_posture();
  co_await channel_.ping(limit);
}

}  // namespace hearth::docker
