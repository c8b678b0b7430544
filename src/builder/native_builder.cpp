#include "builder/native_builder.h"

#include "blueprint/problem.h"

#include <utility>

namespace hearth::builder {

NativeBuilder::NativeBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
                             const NativeBuilderOptions& options)
    : registry_(registry),
      options_(options.build),
      builds_(std::move(loop), options.parallel_builds) {}

Task<Environment> NativeBuilder::ensure_environment(std::string name, OnProgress on_line) {
  auto find = [plan = plan_for(name), this](const std::stop_token&) {
    return with_python(plan, options_);
  };
  const BuildPlan plan = co_await on_thread(looks_, std::move(find));
  // Before the look: what is found must stay.
  if (!in_use_.contains(plan.checksum)) {
    auto use = [&plan, this](const std::stop_token& stop) {
      auto lock = use_environment(options_, plan.checksum, stop);
      records_of(options_).note(plan.checksum, plan.blueprint, plan.python_version, plan.packages);
      return lock;
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

BuildPlan NativeBuilder::plan_for(const std::string& name) const {
  BuildPlan plan = plan_of(registry_, name);
  plan.checksum = environment_checksum(registry_, name, options_.pip);
  return plan;
}

Task<std::set<std::string>> NativeBuilder::wanted() {
  std::vector<BuildPlan> plans;
  for (const std::string& name : registry_.blueprint_names()) plans.push_back(plan_for(name));
  auto look = [plans, this](const std::stop_token&) {
    std::set<std::string> checksums;
    for (const BuildPlan& plan : plans) try {
        checksums.insert(with_python(plan, options_).checksum);
      } catch (const Error&) {
        continue;  // without its Python it has no environment
      }
    return checksums;
  };
  co_return co_await on_thread(looks_, std::move(look));
}

Task<std::vector<Built>> NativeBuilder::list() {
  auto look = [this, checksums = co_await wanted()](const std::stop_token&) {
    return list_environments(options_, checksums);
  };
  co_return co_await on_thread(looks_, std::move(look));
}

Task<std::string> NativeBuilder::rebuild_sandbox(std::string name, OnProgress on_line) {
  auto find = [plan = plan_for(name), this](const std::stop_token&) {
    BuildPlan found = with_python(plan, options_);
    found.is_anew = true;
    return found;
  };
  const BuildPlan plan = co_await on_thread(looks_, std::move(find));
  SharedWork<Environment>::Job build = [plan, options = options_](const std::stop_token& stop,
                                                                  const auto& report) {
    // Sandboxes that run would lose the files under them.
    const auto lock = own_environment(options, plan.checksum);
    if (!lock)
      throw BuildError("the environment of blueprint " + blueprint::in_quotes(plan.blueprint) +
                           " is in use; it can be rebuilt when its sandboxes have ended",
                       {});
    Environment built = build_environment(plan, options, stop, report);
    records_of(options).note(plan.checksum, plan.blueprint, plan.python_version, plan.packages);
    return built;
  };
  const std::string key = plan.checksum + " anew";
  const Environment built = co_await builds_.run(key, std::move(build), std::move(on_line));
  co_return built.tools.parent_path().string();
}

Task<std::vector<std::string>> NativeBuilder::prune(Prune how) {
  auto clear = [this, checksums = co_await wanted(), how](const std::stop_token&) {
    return prune_environments(options_, checksums, how);
  };
  co_return co_await on_thread(looks_, std::move(clear));
}

}  // namespace hearth::builder
