#include "builder/build_plan.h"

#include <utility>

namespace hearth::builder {

BuildPlan plan_of(const registry::ToolRegistry& registry, std::string sandbox) {
  const blueprint::SandboxConfig& config = registry.sandbox(sandbox);
  BuildPlan plan{.checksum = registry.sandbox_checksum(sandbox),
                 .python_version = config.python_version,
                 .packages = registry.packages_of(sandbox),
                 .preload = config.preload};
  for (const registry::Tool* tool : registry.tools_of(sandbox))
    plan.tools.push_back({tool->config.name, tool->source});
  plan.sandbox = std::move(sandbox);
  return plan;
}

std::string environment_checksum(const registry::ToolRegistry& registry, const std::string& sandbox,
                                 const PipOptions& options) {
  std::string checksum = registry.sandbox_checksum(sandbox);
  if (registry.packages_of(sandbox).empty()) return checksum;
  registry::Digest digest;
  digest.add(checksum);
  add_sources(digest, options);
  return digest.finish();
}

}  // namespace hearth::builder
