// runtime/runtime.h: a running Hearth, made from settings: the registry, a backend and a pool of
// its sandboxes, in the right order. The one place that knows concrete backends; every program,
// test and example starts here.
//
// Everything belongs to the thread of one loop. Several runtimes, each on a loop of its own, do not
// know of each other.
#pragma once

#include "backend/limits.h"
#include "base/secret.h"
#include "pool/sandbox_pool.h"
#include "registry/tool_registry.h"
#include "runtime/backends.h"
#include "session/pool_sandboxes.h"
#include "session/session_manager.h"
#include "settings/overrides.h"
#include "settings/settings.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace hearth::runtime {

struct RuntimeOptions {
  // Filled already; absent: with what the settings declare.
  std::optional<registry::ToolRegistry> registry{};
  // Values of secrets by name. They win over the sources that the settings name.
  std::map<std::string, Secret> secrets{};
  // The directory of hearth-init and its companions, for a program that is not beside them;
  // HEARTH_LIBEXEC where the CMake package was found.
  std::filesystem::path programs{};
  // Of native sandboxes: a server refuses to start without cgroups, a person's command says that
  // their limits are degraded (Sandbox::degraded).
  backend::Limits limits = backend::Limits::strict;
  // What has no key in the settings, like the time limits of resets and probes.
  pool::FleetOptions fleet{};
  BackendTable backends = usual_backends();
  // The absolute path of the hearth.toml that the settings are from: environments record it, so
  // that one configuration does not prune what another uses. Empty: there is none.
  std::string configuration{};
};

class Runtime {
 public:
  // `env`: the source of secrets that have no other, and of addresses the settings leave open; for
  // most programs settings::current_env(). Starts nothing. ConfigError, ToolError, OsError.
  static std::unique_ptr<Runtime> open(const asio::any_io_executor& executor,
                                       settings::Settings settings, settings::Env env,
                                       RuntimeOptions options = {});
  // After close(), unless nothing was started.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Ends what was started, the last first; leases that are out have `drain` to come back. When it
  // returns no process of a sandbox is left. May be called again.
  Task<> close(std::chrono::milliseconds drain = {});

  const settings::Settings& settings() const { return settings_; }
  // What is registered before the pool starts it counts, too.
  registry::ToolRegistry& registry() { return registry_; }
  backend::Backend& backend() { return *backend_; }
  pool::SandboxPool& pool() { return *pool_; }

  // Opens the store, which one process owns, and with it the sessions of earlier processes. The
  // blueprints they use are started in the pool by then or later. StoreInUse, StoreUnavailable,
  // StoreTooNew. Once.
  Task<session::SessionManager*> open_sessions();

 private:
  Runtime(const asio::any_io_executor& executor, settings::Settings settings, settings::Env env,
          RuntimeOptions options);

  // In the order they need each other.
  settings::Settings settings_;
  settings::Env env_;
  registry::ToolRegistry registry_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<pool::SandboxPool> pool_;
  asio::any_io_executor executor_;
  SystemClock clock_;
  session::PoolSandboxes sandboxes_;
  std::unique_ptr<session::SessionManager> sessions_;
};

}  // namespace hearth::runtime
