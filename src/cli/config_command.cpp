#include "cli/config_command.h"

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"
#include "runtime/register_settings.h"
#include "runtime/settings_warnings.h"
#include "runtime/state_directory.h"
#include "settings/load.h"
#include "settings/print_toml.h"

#include "base/log.h"
#include "blueprint/json_text.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <utility>

namespace hearth::cli {
namespace {

namespace json = boost::json;
using settings::LoadedSettings;

constexpr const char* check_details =
    R"(Reads FILE, or else $HEARTH_CONFIG, ./hearth.toml or /etc/hearth/hearth.toml. A value on
the command line (--set) wins over one in the environment (HEARTH_LOG_LEVEL), that over the
file, that over the default. Tools are compiled, not run; secrets are not read. A ./hearth.toml that
was not named may not reach outside of its directory, nor pass variables of the environment on.

What is valid but will fail on this machine (paths, versions of Python, preloaded modules, secrets
without a value) is a warning on stderr.

Exit code: 0 valid, 2 not valid (every problem on stderr, with file, line and column).)";

std::map<std::string, std::string> comments_for(const LoadedSettings& loaded,
                                                const registry::ToolRegistry& tools) {
  std::map<std::string, std::string> comments;
  for (const auto& [key, origin] : loaded.origins) comments[key] = "from " + origin;
  for (std::size_t index = 0; index < loaded.settings.blueprints.size(); ++index) {
    const std::string& name = loaded.settings.blueprints[index].name;
    const std::string place = blueprint::element_of("blueprint", index);
    comments[place] = "environment " + tools.blueprint_checksum(name);
    const std::string python =
        runtime::python_in_use(loaded.settings, loaded.settings.blueprints[index]);
    if (!python.empty()) comments[blueprint::member_of(place, "python_version")] = python;
  }
  return comments;
}

std::string as_toml(const LoadedSettings& loaded, const registry::ToolRegistry& tools) {
  return "# The effective configuration of " + loaded.file + "\n\n" +
         settings::print_toml(loaded.settings, comments_for(loaded, tools));
}

std::string as_json(const LoadedSettings& loaded, const registry::ToolRegistry& tools) {
  json::object environments;
  for (const std::string& name : tools.blueprint_names())
    environments.emplace(name, tools.blueprint_checksum(name));
  json::object pythons;
  for (const blueprint::SandboxConfig& config : loaded.settings.blueprints)
    if (std::string python = runtime::python_in_use(loaded.settings, config); !python.empty())
      pythons.emplace(config.name, std::move(python));
  json::object overridden;
  for (const auto& [key, origin] : loaded.origins) overridden.emplace(key, origin);
  return blueprint::print_json(json::object{{"file", loaded.file},
                                            {"settings", settings::to_tree(loaded.settings)},
                                            {"overridden", std::move(overridden)},
                                            {"environments", std::move(environments)},
                                            {"pythons", std::move(pythons)}}) +
         '\n';
}

}  // namespace

int check_config(const ConfigCheck& check, const settings::Env& env, std::ostream& out,
                 std::ostream& errors) {
  try {
    const auto file = settings::find_settings_file(check.file, env);
    const runtime::BackendTable backends = runtime::usual_backends();
    LoadedSettings loaded = runtime::load_configuration(
        settings::read_settings_input(file, env, check.overrides), backends);
    log::configure(loaded.settings.log.level, loaded.settings.log.format);
    for (const std::string& warning : loaded.warnings) log::warning(warning);
    const registry::ToolRegistry tools = runtime::register_settings(loaded, backends);
    for (const settings::Diagnostic& warning : runtime::warnings_of(loaded, env))
      errors << settings::render(warning, check.with_colours) << '\n';
    loaded.settings.state.dir = runtime::state_directory(loaded.settings, env);
    out << (check.as_json ? as_json(loaded, tools) : as_toml(loaded, tools));
    return exit_code::ok;
  } catch (const settings::SettingsError& error) {
    errors << settings::render(error, check.with_colours);
  } catch (const Error& error) {
    errors << "hearth: " << error.what() << '\n';
  }
  return exit_code::invalid_input;
}

void add_config_command(CLI::App& app, int& result) {
  CLI::App* config = app.add_subcommand("config", "Look at a configuration");
  require_command(*config, result);
  CLI::App* command = config->add_subcommand(
      "check", "Check a configuration and print it with every default filled in");
  command->footer(check_details);
  struct Arguments {
    std::string file;
    std::vector<settings::CommandLineSetting> overrides;
    bool as_json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  auto* named = command->add_option("-c,--config,FILE", arguments->file, "The file to check");
  named->type_name("");
  add_set_option(*command, arguments->overrides);
  command->add_flag("--json", arguments->as_json, "Print JSON instead of TOML");
  command->callback([arguments, &result] {
    const settings::Env env = settings::current_env();
    ConfigCheck check{.as_json = arguments->as_json,
                      .with_colours = wants_colours(STDERR_FILENO, env)};
    if (!arguments->file.empty()) check.file = arguments->file;
    check.overrides = arguments->overrides;
    result = check_config(check, env, std::cout, std::cerr);
  });
}

}  // namespace hearth::cli
