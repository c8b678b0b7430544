#include "builder/build_plan.h"

#include <utility>

namespace hearth::builder {

BuildPlan plan_of(const registry::ToolRegistry& registry, std::string blueprint_name) {
  const blueprint::SandboxConfig& config = registry.blueprint(blueprint_name);
  BuildPlan plan{.checksum = registry.blueprint_checksum(blueprint_name),
                 .python_version = config.python_version,
                 .python = config.python_path,
                 .packages = registry.packages_of(blueprint_name),
                 .preload = config.preload};
  for (const registry::Tool* tool : registry.tools_of(blueprint_name))
    plan.tools.push_back({tool->config.name, tool->source});
  plan.blueprint = std::move(blueprint_name);
  return plan;
}

std::string environment_checksum(const registry::ToolRegistry& registry,
                                 const std::string& blueprint_name, const PipOptions& options) {
  std::string checksum = registry.blueprint_checksum(blueprint_name);
  if (registry.packages_of(blueprint_name).empty()) return checksum;
  registry::Digest digest;
  digest.add(checksum);
  add_sources(digest, options);
  return digest.finish();
}

std::string environment_checksum(const std::string& checksum, const std::filesystem::path& python) {
  registry::Digest digest;
  digest.add(checksum);
  digest.add(python.string());
  return digest.finish();
}

}  // namespace hearth::builder
