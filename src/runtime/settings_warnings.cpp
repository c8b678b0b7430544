#include "runtime/settings_warnings.h"

#include "builder/find_python.h"
#include "builder/installed_modules.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace hearth::runtime {
namespace {

namespace fs = std::filesystem;
using blueprint::element_of;
using blueprint::FileResource;
using blueprint::Problem;
using blueprint::SandboxConfig;
using settings::Diagnostic;
using settings::LoadedSettings;

bool exists(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0;
}

// As another user than root's sees it: as root, every sandbox is an ordinary user of its own.
std::string lacking_right(const FileResource& resource) {
  struct stat facts{};
  if (::stat(resource.host_path.c_str(), &facts) != 0) return {};
  const bool is_directory = S_ISDIR(facts.st_mode);
  const mode_t read = is_directory ? S_IROTH | S_IXOTH : S_IROTH;
  if (::geteuid() == 0) {
    if ((facts.st_mode & read) != read)
      return "cannot be read by scripts: sandboxes are another user (chmod o+" +
             std::string(is_directory ? "rx" : "r") + ')';
    if (!resource.read_only && (facts.st_mode & S_IWOTH) == 0)
      return "cannot be written by scripts: sandboxes are another user (chmod o+w)";
    return {};
  }
  if (::access(resource.host_path.c_str(), is_directory ? R_OK | X_OK : R_OK) != 0)
    return "cannot be read by this user";
  if (!resource.read_only && ::access(resource.host_path.c_str(), W_OK) != 0)
    return "cannot be written by this user";
  return {};
}

// Where the engine's machine has the file, this one need not.
bool is_engines(const LoadedSettings& loaded, const FileResource& resource) {
  return loaded.settings.pool.backend != "native" && resource.docker_host_path.has_value();
}

class Warnings {
 public:
  Warnings(const LoadedSettings& loaded, const settings::Env& env) : loaded_(loaded), env_(env) {}

  std::vector<Diagnostic> take() {
    look_at_blueprints();
    look_at_wheels();
    look_at_secrets();
    std::sort(found_.begin(), found_.end(), [](const Diagnostic& left, const Diagnostic& right) {
      return std::tie(left.line, left.column, left.message) <
             std::tie(right.line, right.column, right.message);
    });
    return std::move(found_);
  }

 private:
  void warn(std::string field, std::string message) {
    found_.push_back(loaded_.diagnostic_for({std::move(field), std::move(message)}));
    found_.back().is_warning = true;
  }

  void look_at_blueprints() {
    const auto& blueprints = loaded_.settings.blueprints;
    for (std::size_t index = 0; index < blueprints.size(); ++index) {
      const std::string field = element_of("blueprint", index);
      look_at_files(field, blueprints[index]);
      if (loaded_.settings.pool.backend == "native") look_at_python(field, blueprints[index]);
      if (!blueprints[index].network_policy.allowed_hosts.empty())
        warn(field + ".network_policy.allowed_hosts",
             "has to be empty when it runs: there is no way out of a sandbox yet");
    }
  }

  void look_at_files(const std::string& field, const SandboxConfig& config) {
    for (std::size_t at = 0; at < config.resources.size(); ++at) {
      const FileResource& resource = config.resources[at];
      const std::string path = element_of(field + ".resources", at) + ".host_path";
      if (is_engines(loaded_, resource)) continue;
      if (!exists(resource.host_path)) {
        warn(path, "does not exist here");
      } else if (std::string lack = lacking_right(resource); !lack.empty()) {
        warn(path, std::move(lack));
      }
    }
  }

  void look_at_python(const std::string& field, const SandboxConfig& config) {
    std::optional<builder::Python> python;
    try {
      python = builder::find_python(config.python_version, builder::usual_python_directories());
    } catch (const builder::PythonNotFound& error) {
      warn(field + ".python_version", std::string("cannot be used: ") + error.what());
      return;
    }
    // What packages bring along is known when they are installed.
    if (!config.dependencies.empty() || has_packages_of_tools(config.name)) return;
    const auto missing = builder::missing_modules(*python, config.preload);
    for (const std::string& module : missing) {
      const auto at = std::find(config.preload.begin(), config.preload.end(), module);
      warn(element_of(field + ".preload", static_cast<std::size_t>(at - config.preload.begin())),
           "is not installed for " + python->executable.string() +
               "; name its package in dependencies");
    }
  }

  bool has_packages_of_tools(const std::string& blueprint) const {
    return std::any_of(loaded_.settings.tools.begin(), loaded_.settings.tools.end(),
                       [&](const settings::ToolDeclaration& tool) {
                         const auto& names = tool.config.blueprints;
                         return !tool.config.packages.empty() &&
                                std::find(names.begin(), names.end(), blueprint) != names.end();
                       });
  }

  void look_at_wheels() {
    const auto& directories = loaded_.settings.builder.find_links;
    for (std::size_t index = 0; index < directories.size(); ++index) {
      std::error_code failed;
      if (!fs::is_directory(directories[index], failed))
        warn(element_of("builder.find_links", index),
             "is no directory: " + blueprint::in_quotes(directories[index]));
    }
  }

  // Of each secret that a blueprint or tool asks for, once.
  void look_at_secrets() {
    const auto& settings = loaded_.settings;
    for (std::size_t index = 0; index < settings.blueprints.size(); ++index)
      look_at_names(element_of("blueprint", index) + ".secrets",
                    settings.blueprints[index].secrets);
    for (std::size_t index = 0; index < settings.tools.size(); ++index)
      look_at_names(element_of("tool", index) + ".secrets", settings.tools[index].config.secrets);
  }

  void look_at_names(const std::string& list, const std::vector<std::string>& names) {
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (!secrets_.insert(names[at]).second) continue;
      const auto source = loaded_.settings.secrets.find(names[at]);
      const bool is_declared = source != loaded_.settings.secrets.end();
      if (is_declared && source->second.file) {
        if (!exists(*source->second.file))
          warn(blueprint::member_of("secrets", names[at]) + ".file",
               "does not exist here, and scripts that need the secret end as missing_secret");
        continue;
      }
      const bool is_named = is_declared && source->second.env;
      const std::string variable = is_named ? *source->second.env : names[at];
      if (env_.contains(variable)) continue;
      warn(is_named ? blueprint::member_of("secrets", names[at]) + ".env" : element_of(list, at),
           "is to come from the environment variable " + variable +
               ", which is not set now; scripts that need the secret end as missing_secret");
    }
  }

  const LoadedSettings& loaded_;
  const settings::Env& env_;
  std::set<std::string> secrets_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::string python_in_use(const settings::Settings& settings, const SandboxConfig& config) try {
  if (settings.pool.backend != "native") return {};
  const builder::Python python =
      builder::find_python(config.python_version, builder::usual_python_directories());
  return python.version + " (" + python.executable.string() + ')';
} catch (const builder::PythonNotFound&) {
  return {};  // a warning says so
}

std::vector<Diagnostic> warnings_of(const LoadedSettings& loaded, const settings::Env& env) {
  return Warnings(loaded, env).take();
}

std::vector<Diagnostic> missing_host_paths(const LoadedSettings& loaded,
                                           const std::string& blueprint) {
  std::vector<Diagnostic> missing;
  const auto& blueprints = loaded.settings.blueprints;
  for (std::size_t index = 0; index < blueprints.size(); ++index) {
    if (blueprints[index].name != blueprint) continue;
    const auto& resources = blueprints[index].resources;
    for (std::size_t at = 0; at < resources.size(); ++at) {
      if (is_engines(loaded, resources[at]) || exists(resources[at].host_path)) continue;
      missing.push_back(loaded.diagnostic_for(
          {element_of(element_of("blueprint", index) + ".resources", at) + ".host_path",
           "does not exist here: " + blueprint::in_quotes(resources[at].host_path)}));
    }
  }
  return missing;
}

}  // namespace hearth::runtime
