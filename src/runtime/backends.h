// runtime/backends.h: the backends by name. Another backend is one folder that implements
// backend::Backend, and one line in backends.cpp.
#pragma once

#include "backend/backend.h"
#include "backend/limits.h"
#include "registry/tool_registry.h"
#include "settings/overrides.h"
#include "settings/settings.h"

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::runtime {

// What a backend is opened with. References must outlive it.
struct BackendContext {
  asio::any_io_executor executor;
  const settings::Settings& settings;
  const settings::Env& env;
  const registry::ToolRegistry& registry;
  std::filesystem::path programs{};  // the directory of hearth-init; empty: see find_programs
  backend::Limits limits = backend::Limits::strict;
  std::string configuration{};  // the hearth.toml in use, for records; empty: none
};

// Starts nothing: what a machine or an engine lacks is reported by the first use.
using OpenBackend = std::function<std::unique_ptr<backend::Backend>(const BackendContext&)>;
struct BackendEntry {
  std::string name;  // for pool.backend and --backend
  OpenBackend open;
  // The Python for a blueprint that need not have a certain one. Nothing: the version that
  // blueprints have by default.
  std::function<std::optional<backend::Interpreter>()> usual_python{};
  // The one at a path; throws Error if it is none. Empty: this backend has none at paths.
  std::function<backend::Interpreter(const std::string& path)> named_python{};
};
using BackendTable = std::vector<BackendEntry>;

BackendTable usual_backends();

// `wanted`: a version (3.11, 3.11.2), or a path where it has a slash. Throws Error.
void set_python(blueprint::SandboxConfig& config, const std::string& wanted,
                const std::string& backend = "native",
                const BackendTable& backends = usual_backends());

// A blueprint called `default`, of defaults only but for the Python that is there.
blueprint::SandboxConfig plain_blueprint(const std::string& backend = "native",
                                         const BackendTable& backends = usual_backends());

std::vector<std::string> names_of(const BackendTable& backends);

// Empty if `name` is in the table; otherwise what is wrong, to be read after the key.
std::string problem_of_backend(const BackendTable& backends, const std::string& name);

// ConfigError if pool.backend is not in the table.
std::unique_ptr<backend::Backend> open_backend(const BackendTable& backends,
                                               const BackendContext& context);

}  // namespace hearth::runtime
