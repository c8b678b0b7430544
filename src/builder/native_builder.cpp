#include "builder/native_builder.h"

#include <utility>

namespace hearth::builder {

NativeBuilder::NativeBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
                             const NativeBuilderOptions& options)
    : registry_(registry),
      options_(options.build),
      builds_(std::move(loop), options.parallel_builds) {}

BuildPlan NativeBuilder::plan_of(std::string name) const {
  const blueprint::SandboxConfig& config = registry_.sandbox(name);
  BuildPlan plan{.checksum = registry_.sandbox_checksum(name),
                 .python_version = config.python_version,
                 .packages = registry_.packages_of(name),
                 .preload = config.preload};
  for (const registry::Tool* tool : registry_.tools_of(name))
    plan.tools.push_back({tool->config.name, tool->source});
  plan.sandbox = std::move(name);
  return plan;
}

Task<Environment> NativeBuilder::ensure_sandbox(std::string name, OnProgress on_line) {
  const BuildPlan plan = plan_of(std::move(name));
  auto look = [&plan, this](const std::stop_token&) { return find_environment(plan, options_); };
  std::optional<Environment> found = co_await on_worker(looks_, std::move(look));
  if (found) co_return std::move(*found);

  // Copies: the build may outlive this caller.
  SharedWork<Environment>::Job build = [plan, options = options_](const std::stop_token& stop,
                                                                  const auto& report) {
    return build_environment(plan, options, stop, report);
  };
  Environment built = co_await builds_.run(plan.checksum, std::move(build), std::move(on_line));
  built.preload = plan.preload;  // in this blueprint's order, which is no part of the checksum
  co_return built;
}

}  // namespace hearth::builder
