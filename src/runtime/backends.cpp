#include "runtime/backends.h"

#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/docker_backend.h"
#include "runtime/native_backend.h"

#include <algorithm>
#include <utility>

namespace hearth::runtime {

BackendTable usual_backends() {
  return {
      {"native", open_native_backend, usual_native_python, named_native_python},
      {"docker", open_docker_backend},
  };
}

namespace {

// What blueprints and tools depend on: 3.11 of 3.11.2.
void use(blueprint::SandboxConfig& config, const backend::Interpreter& python) {
  const std::size_t dot = python.version.find('.', python.version.find('.') + 1);
  config.python_version = python.version.substr(0, dot);
  config.python_path = python.path;
}

}  // namespace

void set_python(blueprint::SandboxConfig& config, const std::string& wanted,
                const std::string& backend, const BackendTable& backends) {
  if (wanted.find('/') == std::string::npos) {
    config.python_version = wanted;
    config.python_path.clear();
    return;
  }
  for (const BackendEntry& entry : backends)
    if (entry.name == backend && entry.named_python) return use(config, entry.named_python(wanted));
  throw Error("a Python of this machine, " + wanted + ", is not for sandboxes of " + backend +
              ": name a version");
}

blueprint::SandboxConfig plain_blueprint(const std::string& backend, const BackendTable& backends) {
  blueprint::SandboxConfig config;
  config.name = "default";
  for (const BackendEntry& entry : backends) {
    if (entry.name != backend || !entry.usual_python) continue;
    if (const auto python = entry.usual_python()) use(config, *python);
  }
  return config;
}

std::vector<std::string> names_of(const BackendTable& backends) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backends) names.push_back(entry.name);
  return names;
}

std::string problem_of_backend(const BackendTable& backends, const std::string& name) {
  const std::vector<std::string> known = names_of(backends);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return "must be one of " + joined(known, ", ") + ", is " + blueprint::in_quotes(name) +
         suggestion(name, known);
}

std::unique_ptr<backend::Backend> open_backend(const BackendTable& backends,
                                               const BackendContext& context) {
  const std::string& name = context.settings.pool.backend;
  for (const BackendEntry& entry : backends)
    if (entry.name == name) return entry.open(context);
  throw blueprint::ConfigError("the configuration",
                               {{"pool.backend", problem_of_backend(backends, name)}});
}

}  // namespace hearth::runtime
