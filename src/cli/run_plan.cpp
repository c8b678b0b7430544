#include "cli/run_plan.h"

#include "runtime/backends.h"
#include "runtime/register_settings.h"
#include "runtime/settings_warnings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view usual_name = "default";
constexpr std::int64_t most_megabytes = 16'777'216;  // as in a configuration

settings::LoadedSettings load(const RunOptions& options, const settings::Env& env, RunPlan& plan) {
  std::optional<fs::path> named;
  if (options.config) named = *options.config;
  std::vector<settings::CommandLineSetting> overrides = options.overrides;
  if (!options.backend.empty()) overrides.push_back({"pool.backend", options.backend});
  settings::SettingsInput input{.file = "built-in.toml", .env = env, .command_line = overrides};
  std::optional<settings::SettingsFile> file;
  try {
    file = settings::find_settings_file(named, env);
  } catch (const Error&) {
    if (named) throw;
  }
  if (file) {
    plan.configuration = fs::absolute(file->path).lexically_normal().string();
    plan.configuration_was_named = file->was_named;
    input = settings::read_settings_input(*file, env, std::move(overrides));
  }
  return runtime::load_configuration(std::move(input), runtime::usual_backends());
}

std::string choose_blueprint(const settings::Settings& settings, const std::string& wanted) {
  std::vector<std::string> names;
  for (const blueprint::SandboxConfig& config : settings.blueprints) names.push_back(config.name);
  const std::string name = wanted.empty() ? std::string(usual_name) : wanted;
  for (const std::string& known : names)
    if (known == name) return known;
  if (wanted.empty() && names.size() == 1) return names.front();
  if (wanted.empty() && names.size() > 1) {
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    throw Error("name one of the configuration's blueprints with --blueprint: " + list);
  }
  throw registry::UnknownBlueprint(name, names);
}

void apply(const RunOptions& options, blueprint::SandboxConfig& config) {
  if (options.memory_mb) {
    blueprint::ResourceLimits& limits = config.resource_limits;
    // As much swap as before: the limit that is set is of both together.
    if (limits.memory_swap_mb > 0) limits.memory_swap_mb += *options.memory_mb - limits.memory_mb;
    limits.memory_mb = *options.memory_mb;
  }
  if (options.timeout_seconds)
    config.resource_limits.execution_timeout_sec =
        static_cast<std::int64_t>(std::ceil(*options.timeout_seconds));
  if (options.pool_size) config.pool_size = *options.pool_size;
  for (const blueprint::FileResource& mount : options.mounts) config.resources.push_back(mount);
}

// A name that Python takes, close to one that it does not.
std::string as_identifier(std::string name) {
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name.insert(0, 1, '_');
  return name;
}

// The file named on the command line takes the place of a configured tool's, which keeps its
// packages and secrets.
bool replaces_configured_tool(const std::string& file, const std::string& blueprint,
                              std::vector<settings::ToolDeclaration>& configured) {
  const std::string name = fs::path(file).stem().string();
  for (settings::ToolDeclaration& tool : configured) {
    if (tool.config.name != name) continue;
    tool.file = file;
    std::vector<std::string>& blueprints = tool.config.blueprints;
    if (std::find(blueprints.begin(), blueprints.end(), blueprint) == blueprints.end())
      blueprints.push_back(blueprint);
    return true;
  }
  return false;
}

registry::Tool named_tool(const std::string& file, const std::string& blueprint) {
  blueprint::ToolConfig config;
  config.name = fs::path(file).stem().string();
  config.blueprints = {blueprint};
  if (const std::string usable = as_identifier(config.name); usable != config.name)
    throw Error("--tool " + file + ": scripts know a tool by the name of its file, which must be " +
                "a Python identifier; rename it to " + usable + ".py");
  return registry::tool_from_file(std::move(config), file);
}

}  // namespace

std::optional<std::int64_t> parse_megabytes(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  if (unit == "G" || unit == "GB" || unit == "T" || unit == "TB") {
    if (value > most_megabytes) return std::nullopt;
    value *= unit.front() == 'G' ? 1024 : 1024 * 1024;
  } else if (!unit.empty() && unit != "M" && unit != "MB") {
    return std::nullopt;
  }
  if (error != std::errc() || value <= 0 || value > most_megabytes) return std::nullopt;
  return value;
}

std::optional<double> parse_seconds(const std::string& text) {
  constexpr double year = 31'536'000;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(value > 0 && value <= year))
    return std::nullopt;
  return value;
}

std::optional<blueprint::FileResource> parse_mount(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos || first == 0) return std::nullopt;
  const std::size_t second = text.find(':', first + 1);
  blueprint::FileResource resource;
  resource.host_path = fs::absolute(text.substr(0, first)).lexically_normal().string();
  resource.container_path = text.substr(first + 1, second - first - 1);
  if (second != std::string::npos) {
    const std::string mode = text.substr(second + 1);
    if (mode != "ro" && mode != "rw") return std::nullopt;
    resource.read_only = mode == "ro";
  }
  return resource;
}

RunPlan make_run_plan(const RunOptions& options, const settings::Env& env) {
  RunPlan plan;
  settings::LoadedSettings loaded = load(options, env, plan);
  if (options.allow_degraded) loaded.settings.native.allow_degraded = true;
  if (!options.any_blueprint) plan.blueprint = choose_blueprint(loaded.settings, options.blueprint);
  if (auto missing = runtime::missing_host_paths(loaded, plan.blueprint); !missing.empty())
    throw settings::SettingsError(std::move(missing));
  for (blueprint::SandboxConfig& config : loaded.settings.blueprints) {
    if (config.name != plan.blueprint) continue;
    apply(options, config);
    if (!options.python.empty())
      runtime::set_python(config, options.python, loaded.settings.pool.backend);
  }
  std::vector<registry::Tool> tools;
  for (const std::string& file : options.tools)
    if (!replaces_configured_tool(file, plan.blueprint, loaded.settings.tools))
      tools.push_back(named_tool(file, plan.blueprint));
  plan.registry = runtime::register_settings(loaded, runtime::usual_backends());
  if (!tools.empty()) plan.registry.register_tools(std::move(tools));
  plan.settings = std::move(loaded.settings);
  return plan;
}

}  // namespace hearth::cli
