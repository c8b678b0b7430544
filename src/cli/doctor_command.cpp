#include "cli/doctor_command.h"

#include "builder/find_python.h"
#include "channel/sandbox_channel.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "docker/docker_engine.h"
#include "execution/script_executor.h"
#include "native/native_source.h"
#include "settings/load.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <future>
#include <iostream>
#include <set>

namespace hearth::cli {
namespace {

using native::Finding;
using State = Finding::State;

constexpr const char* doctor_details =
    R"(Looks at the kernel, tries to start a sandbox, and says for everything that is missing what
follows from that and how to mend it.

Exit code: 0 sandboxes start, 3 they do not.)";

Finding pythons_finding() {
  std::set<std::string> found;
  for (const std::filesystem::path& directory : builder::usual_python_directories())
    for (int minor = 8; minor < 20; ++minor) {
      const std::filesystem::path program = directory / ("python3." + std::to_string(minor));
      if (::access(program.c_str(), X_OK) != 0) continue;
      if (const auto python = builder::ask_python(program)) found.insert(python->version);
    }
  Finding finding{.what = "Python"};
  for (const std::string& version : found)
    finding.found += (finding.found.empty() ? "" : ", ") + version;
  if (found.empty()) {
    finding = {.what = "Python",
               .found = "none",
               .state = State::missing,
               .consequence = "no script can run",
               .remedy = "apt-get install python3"};
  }
  return finding;
}

Task<std::string> describe_engine(docker::EngineAddress address) {
  docker::EngineClient client(std::move(address));
  const docker::EngineIdentity identity = co_await client.ping();
  const docker::EngineAnswer info = co_await client.call({.path = "/info"});
  co_return docker::describe_engine(identity, info.body);
}

// Empty where no configuration says so.
std::string configured_engine(const settings::Env& environment) {
  try {
    const settings::SettingsFile file = settings::find_settings_file({}, environment);
    return settings::load_settings(settings::read_settings_input(file, environment, {}))
        .settings.docker.host;
  } catch (const Error&) {
    return {};  // `hearth config check` says what is wrong with it
  }
}

// Docker is for those who want it; without it nothing is missing.
Finding docker_finding() try {
  const settings::Env environment = settings::current_env();
  const docker::EngineAddress address =
      docker::choose_engine_address(configured_engine(environment), environment);
  asio::io_context loop(1);
  std::future<std::string> words = asio::co_spawn(loop, describe_engine(address), asio::use_future);
  loop.run();
  return {.what = "Docker", .found = words.get() + ", at " + address.text()};
} catch (const std::exception& error) {
  return {.what = "Docker", .found = std::string("not usable, and not needed: ") + error.what()};
}

Task<std::string> try_sandbox(asio::io_context& loop) {
  std::string problem;
  std::unique_ptr<native::NativeSource> source;
  try {
    native::NativeMachineOptions options;
    options.allow_degraded = true;  // what is missing is said already
    native::ZygoteContent environment;
    environment.python = builder::find_python("3", builder::usual_python_directories()).executable;
    source = std::make_unique<native::NativeSource>(loop.get_executor(),
                                                    native::open_native_machine(options),
                                                    blueprint::SandboxConfig{}, environment);
    const std::unique_ptr<backend::Sandbox> sandbox = co_await source->spawn();
    execution::ScriptExecutor executor(*sandbox);
    wire::RunRequest request;
    request.script = "x = 1";
    const execution::ExecutionResult result = co_await executor.run(std::move(request));
    if (result.verdict != execution::Verdict::ok)
      problem = "a script ended as " + std::string(execution::name_of(result.verdict));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (source) co_await source->close();
  co_return problem;
}

Finding sandbox_finding() {
  asio::io_context loop(1);
  std::future<std::string> trial = asio::co_spawn(loop, try_sandbox(loop), asio::use_future);
  loop.run();
  const std::string problem = trial.get();
  if (problem.empty()) return {.what = "a sandbox", .found = "starts and runs a script"};
  return {.what = "a sandbox",
          .found = "does not start",
          .state = State::missing,
          .consequence = problem,
          .remedy = "mend what is named above"};
}

bool sandboxes_start(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    if (finding.state == State::missing) return false;
  return true;
}

int examine(bool with_colours) {
  std::vector<Finding> findings = native::findings_of(native::gather_machine_facts());
  findings.push_back(pythons_finding());
  findings.push_back(docker_finding());
  findings.push_back(sandbox_finding());
  std::cout << render_findings(findings, with_colours);
  const bool good = sandboxes_start(findings);
  std::cout << (good ? "\nSandboxes will start here.\n"
                     : "\nSandboxes will not start here. With allow_degraded they start without "
                       "what only weakens them.\n");
  return good ? exit_code::ok : exit_code::cannot_sandbox;
}

}  // namespace

std::string render_findings(const std::vector<Finding>& findings, bool with_colours) {
  std::string text;
  const auto colour = [&](const char* code) {
    return with_colours ? fmt::format("\033[{}m", code) : std::string();
  };
  for (const Finding& finding : findings) {
    const bool good = finding.state == State::good;
    const bool missing = finding.state == State::missing;
    const char* mark = good ? "ok" : missing ? "no" : "--";
    text += fmt::format("{}{}{}  {:<18} {}\n",
                        colour(good      ? "32"
                               : missing ? "31"
                                         : "33"),
                        mark, colour("0"), finding.what, finding.found);
    if (good) continue;
    text += fmt::format("      {}\n      mend: {}\n", finding.consequence, finding.remedy);
  }
  return text;
}

void add_doctor_command(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("doctor", "Say whether sandboxes will start here, and how to mend it");
  command->footer(doctor_details);
  command->callback(
      [&result] { result = examine(wants_colours(STDOUT_FILENO, settings::current_env())); });
}

}  // namespace hearth::cli
