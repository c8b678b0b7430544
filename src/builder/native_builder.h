// builder/native_builder.h: the environments of the native backend. An environment that is there is
// used at once; one that is not is built once, however many ask for it, here or in other processes.
#pragma once

#include "async/blocking.h"
#include "async/shared_work.h"
#include "builder/build_environment.h"
#include "builder/environment_store.h"
#include "builder/sandbox_builder.h"
#include "registry/tool_registry.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hearth::builder {

struct NativeBuilderOptions {
  BuildOptions build{};
  std::size_t parallel_builds = 2;  // of different environments
};

class NativeBuilder : public SandboxBuilder {
 public:
  // `registry` must outlive this.
  NativeBuilder(asio::any_io_executor loop, const registry::ToolRegistry& registry,
                const NativeBuilderOptions& options);

  // UnknownBlueprint, PythonNotFound, BuildError with the log, OsError with a path. A caller that
  // is cancelled leaves the build to others that wait for it; without any, it is killed.
  Task<Environment> ensure_environment(std::string name, OnProgress on_line = {});

  // The directory of the environment.
  Task<std::string> ensure_sandbox(std::string name, OnProgress on_line) override;
  Task<std::vector<Built>> list() override;
  Task<std::string> rebuild_sandbox(std::string name, OnProgress on_line) override;
  Task<std::vector<std::string>> prune(Prune how) override;

  const std::filesystem::path& state_dir() const { return options_.state_dir; }

 private:
  BuildPlan plan_for(const std::string& name) const;
  Task<std::set<std::string>> wanted();  // checksums

  const registry::ToolRegistry& registry_;
  BuildOptions options_;
  // A look at what is there never waits behind a build.
  asio::thread_pool looks_{1};
  SharedWork<Environment> builds_;
  // While these are held, what was handed out is not pruned.
  std::map<std::string, os::FileLock> in_use_;
};

}  // namespace hearth::builder
