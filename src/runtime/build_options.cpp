#include "runtime/build_options.h"

#include "runtime/state_directory.h"

#include <chrono>

namespace hearth::runtime {

builder::BuildOptions build_options(const BackendContext& context) {
  const settings::BuilderSettings& wanted = context.settings.builder;
  builder::BuildOptions options;
  options.state_dir = state_directory(context.settings, context.env);
  options.pip.index_url = wanted.index_url;
  for (const std::string& directory : wanted.find_links)
    options.pip.find_links.emplace_back(directory);
  options.pip.no_index = wanted.no_index;
  options.pip.allow_source_builds = wanted.allow_source_builds;
  options.limits.memory_mb = static_cast<std::uint64_t>(wanted.build_memory_mb);
  options.build_timeout = std::chrono::seconds(wanted.build_timeout_sec);
  options.programs = context.programs;
  options.configuration = context.configuration;
  return options;
}

}  // namespace hearth::runtime
