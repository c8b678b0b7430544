#include "builder/native_builder.h"

#include <utility>

namespace hearth::builder {

NativeBuilder::NativeBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
                             const NativeBuilderOptions& options)
    : registry_(registry),
      options_(options.build),
      builds_(std::move(loop), options.parallel_builds) {}

Task<Environment> NativeBuilder::ensure_environment(std::string name, OnProgress on_line) {
  BuildPlan plan = plan_of(registry_, std::move(name));
  plan.checksum = environment_checksum(registry_, plan.blueprint, options_.pip);
  // Before the look: what is found must stay.
  if (!in_use_.contains(plan.checksum)) {
    auto use = [&plan, this](const std::stop_token& stop) {
      return use_environment(options_, plan.checksum, stop);
    };
    std::optional<os::FileLock> lock = co_await on_thread(looks_, std::move(use));
    if (!lock) throw BuildStopped();
    in_use_.emplace(plan.checksum, std::move(*lock));
  }
  auto look = [&plan, this](const std::stop_token&) { return find_environment(plan, options_); };
  std::optional<Environment> found = co_await on_thread(looks_, std::move(look));
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

Task<std::string> NativeBuilder::ensure_sandbox(std::string name, OnProgress on_line) {
  const Environment environment = co_await ensure_environment(std::move(name), std::move(on_line));
  co_return environment.tools.parent_path().string();
}

std::set<std::string> NativeBuilder::wanted() const {
  std::set<std::string> checksums;
  for (const std::string& name : registry_.blueprint_names())
    checksums.insert(environment_checksum(registry_, name, options_.pip));
  return checksums;
}

Task<std::vector<Built>> NativeBuilder::list() {
  auto look = [this, checksums = wanted()](const std::stop_token&) {
    return list_environments(options_, checksums);
  };
  co_return co_await on_thread(looks_, std::move(look));
}

Task<std::vector<std::string>> NativeBuilder::prune() {
  auto clear = [this, checksums = wanted()](const std::stop_token&) {
    return prune_environments(options_, checksums);
  };
  co_return co_await on_thread(looks_, std::move(clear));
}

}  // namespace hearth::builder
