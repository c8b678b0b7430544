#include "cli/local_setup.h"

#include "backend/errors.h"
#include "base/error.h"
#include "blueprint/problem.h"
#include "cli/exit_code.h"
#include "docker/engine_error.h"
#include "native/native_source.h"
#include "os/read_file.h"
#include "os/trusted_path.h"

#include <CLI/CLI.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

namespace hearth::cli {
namespace {

constexpr std::size_t most_secret_bytes = 1 << 16;

int complain(const std::string& message, int code) {
  std::cerr << "hearth: " << message << '\n';
  return code;
}

Secret secret_in(const std::filesystem::path& file, const std::string& name) try {
  std::string value = os::read_trusted_file(file, most_secret_bytes);
  while (value.ends_with('\n')) value.pop_back();
  return Secret(std::move(value));
} catch (const Error& error) {
  throw Error("the secret " + name + ": " + error.what());
}

}  // namespace

builder::NativeBuilderOptions builder_options(const settings::Settings& settings,
                                              const settings::Env& environment) {
  builder::NativeBuilderOptions options;
  options.build.state_dir = state_directory(settings, environment, ::geteuid() == 0);
  options.build.pip.index_url = settings.builder.index_url;
  for (const std::string& directory : settings.builder.find_links)
    options.build.pip.find_links.emplace_back(directory);
  options.build.pip.no_index = settings.builder.no_index;
  options.build.pip.allow_source_builds = settings.builder.allow_source_builds;
  options.build.limits.memory_mb = static_cast<std::uint64_t>(settings.builder.build_memory_mb);
  options.build.build_timeout = std::chrono::seconds(settings.builder.build_timeout_sec);
  return options;
}

// What has no value is missing, and init says so.
std::map<std::string, Secret> secret_values(const RunPlan& plan, const settings::Env& environment) {
  std::map<std::string, Secret> values;
  for (const std::string& name : plan.registry.secret_names_of(plan.blueprint)) {
    const auto source = plan.settings.secrets.find(name);
    const bool configured = source != plan.settings.secrets.end();
    if (configured && source->second.file) {
      values[name] = secret_in(*source->second.file, name);
      continue;
    }
    const std::string variable = configured && source->second.env ? *source->second.env : name;
    if (const auto found = environment.find(variable); found != environment.end())
      values[name] = Secret(found->second);
  }
  return values;
}

std::vector<std::string> python_versions(const RunOptions& options) {
  std::vector<std::string> versions;
  if (options.backend == "docker") return versions;
  if (const auto usual = builder::ask_python("/usr/bin/python3")) {
    const std::size_t dot = usual->version.find('.', usual->version.find('.') + 1);
    versions.push_back(usual->version.substr(0, dot));
  }
  return versions;
}

void add_backend_option(CLI::App& command, RunOptions& options) {
  command
      .add_option("--backend", options.backend,
                  "What makes the sandboxes, instead of the configuration's pool.backend")
      ->check(CLI::IsMember({"native", "docker"}));
}

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string read_script(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  if (file == "-") return os::read_rest(STDIN_FILENO, "standard input", most_bytes);
  return os::read_file(file, most_bytes);
}

int complain_about_current_exception() try { throw; } catch (const native::CannotSandbox& error) {
  return complain(error.what(), exit_code::cannot_sandbox);
} catch (const backend::SpawnError& error) {
  // With a traceback it is a tool or a preloaded module, else the machine.
  std::cerr << error.traceback;
  return complain(error.what(),
                  error.traceback.empty() ? exit_code::cannot_sandbox : exit_code::invalid_input);
} catch (const backend::ReadyTimeout& error) {
  return complain(error.what(), exit_code::cannot_sandbox);
} catch (const docker::EngineUnreachable& error) {
  return complain(error.what(), exit_code::cannot_sandbox);
} catch (const builder::BuildError& error) {
  std::cerr << error.log;
  return complain(error.what(), exit_code::invalid_input);
} catch (const settings::SettingsError& error) {
  std::cerr << settings::render(error, false);
  return exit_code::invalid_input;
} catch (const boost::system::system_error& error) {
  if (error.code() != boost::asio::error::operation_aborted) throw;
  return complain("interrupted", exit_code::interrupted);
} catch (const Error& error) {
  return complain(error.what(), exit_code::invalid_input);
}

}  // namespace hearth::cli
