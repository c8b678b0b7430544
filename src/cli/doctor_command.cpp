#include "cli/doctor_command.h"

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "execution/turn.h"
#include "runtime/runtime.h"
#include "settings/load.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <future>
#include <iostream>
#include <utility>

namespace hearth::cli {
namespace {

using backend::Finding;
using State = Finding::State;

constexpr const char* doctor_details =
    R"(Looks at the kernel, tries to start a sandbox, and says for everything that is missing what
follows from that and how to fix it.

Exit code: 0 sandboxes start, 3 they do not.)";

// The configuration, for the address of an engine say; defaults where there is none.
settings::Settings configured(const settings::Env& env) try {
  const settings::SettingsFile file = settings::find_settings_file({}, env);
  return settings::load_settings(settings::read_settings_input(file, env, {})).settings;
} catch (const Error&) {
  return {};  // `hearth config check` says what is wrong with it
}

// Of every backend, whichever is configured.
Task<std::vector<Finding>> examine_backends(const settings::Settings& settings,
                                            const settings::Env& env) {
  const registry::ToolRegistry registry;
  const auto executor = co_await asio::this_coro::executor;
  std::vector<Finding> findings;
  for (const runtime::BackendEntry& entry : runtime::usual_backends()) {
    try {
      const auto backend = entry.open({executor, settings, env, registry});
      for (Finding& finding : co_await backend->examine()) findings.push_back(std::move(finding));
    } catch (const Error& error) {
      findings.push_back({.what = entry.name, .found = std::string("not usable: ") + error.what()});
    }
  }
  co_return findings;
}

Task<std::string> try_script(pool::SandboxPool& pool) try {
  co_await pool.startup();
  pool::Lease lease = co_await pool.checkout("default");
  const execution::ExecutionResult result =
      co_await execution::run_turn(lease, {.script = "x = 1"});
  if (result.verdict == execution::Verdict::ok) co_return "";
  co_return "a script ended as " + std::string(execution::name_of(result.verdict));
} catch (const std::exception& error) {
  co_return error.what();
}

// In a plain sandbox of the default backend.
Task<std::string> try_sandbox(const settings::StateSettings& state, const settings::Env& env) {
  settings::Settings settings;
  settings.state = state;
  settings.native.allow_degraded = true;  // what is missing is said already
  settings.blueprints = {runtime::plain_blueprint(settings.pool.backend)};
  settings.blueprints.front().pool_size = 1;
  const auto runtime = runtime::Runtime::open(co_await asio::this_coro::executor, settings, env);
  std::string problem = co_await try_script(runtime->pool());
  co_await runtime->close();
  co_return problem;
}

template <typename T>
T run_to_end(Task<T> task) {
  asio::io_context loop(1);
  std::future<T> result = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.run();
  return result.get();
}

Finding sandbox_finding(const settings::StateSettings& state, const settings::Env& env) {
  const std::string problem = run_to_end(try_sandbox(state, env));
  if (problem.empty()) return {.what = "a sandbox", .found = "starts and runs a script"};
  return {.what = "a sandbox",
          .found = "does not start",
          .state = State::missing,
          .consequence = problem,
          .remedy = "fix what is named above"};
}

bool sandboxes_start(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    if (finding.state == State::missing) return false;
  return true;
}

int examine(const settings::Env& env) {
  const settings::Settings settings = configured(env);
  std::vector<Finding> findings = run_to_end(examine_backends(settings, env));
  findings.push_back(sandbox_finding(settings.state, env));
  std::cout << render_findings(findings, wants_colours(STDOUT_FILENO, env));
  const bool good = sandboxes_start(findings);
  std::cout << (good ? "\nSandboxes will start here.\n"
                     : "\nSandboxes cannot start on this machine. `allow_degraded` lets them start "
                       "without protections whose lack only weakens them.\n");
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
    text += fmt::format("      {}\n      fix: {}\n", finding.consequence, finding.remedy);
  }
  return text;
}

void add_doctor_command(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("doctor", "Say whether sandboxes will start here, and how to fix it");
  command->footer(doctor_details);
  command->callback([&result] { result = examine(settings::current_env()); });
}

}  // namespace hearth::cli
