// How long an operator with a thousand kinds of sandboxes waits for a configuration.
#include "settings/load.h"

#include <benchmark/benchmark.h>

#include <string>

using namespace hearth::settings;

namespace {

// Every blueprint uses most of what there is: requirements, hosts, ports, mounts, secrets.
std::string config_with(std::int64_t blueprints) {
  std::string text;
  for (std::int64_t index = 0; index < blueprints; ++index) {
    text += "[[blueprint]]\nname = \"sandbox-" + std::to_string(index) + R"("
python_version = "3.11"
dependencies = ["pandas>=2,<3", "httpx[http2]~=0.27", "numpy ; python_version >= '3.9'"]
secrets = ["STRIPE_KEY", "DB_PASSWORD"]
[blueprint.resource_limits]
memory_mb = 512
memory_swap_mb = 1024
[blueprint.network_policy]
allowed_hosts = ["api.stripe.com", "*.example.org", "192.0.2.7"]
allowed_ports = { "192.0.2.7" = [8080, 8443] }
[[blueprint.resources]]
host_path = "/srv/docs"
container_path = "/data/docs"

)";
  }
  return text;
}

void load_and_validate(benchmark::State& state) {
  const std::string text = config_with(state.range(0));
  for (auto unused : state) {
    const LoadedSettings loaded = load_settings({"hearth.toml", text, {}, {}});
    if (loaded.settings.blueprints.size() != static_cast<std::size_t>(state.range(0)))
      state.SkipWithError("not all blueprints were loaded");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(load_and_validate)
    ->ArgName("blueprints")
    ->Arg(1)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
