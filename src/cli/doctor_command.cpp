#include "cli/doctor_command.h"

#include "base/joined.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "execution/turn.h"
#include "runtime/delegated_scope.h"
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

struct Trial {
  std::string problem{};                // why no script ran; empty: one did
  std::vector<std::string> degraded{};  // limits
};

Task<Trial> try_script(pool::SandboxPool& pool) try {
  co_await pool.startup();
  pool::Lease lease = co_await pool.checkout("default");
  const execution::ExecutionResult result =
      co_await execution::run_turn(lease, {.script = "x = 1"});
  if (result.verdict == execution::Verdict::ok) co_return Trial{.degraded = result.degraded};
  co_return Trial{"a script ended as " + std::string(execution::name_of(result.verdict))};
} catch (const std::exception& error) {
  co_return Trial{error.what()};
}

// In a plain sandbox of the default backend, as `hearth run` makes it.
Task<Trial> try_sandbox(const settings::StateSettings& state, const settings::Env& env) {
  settings::Settings settings;
  settings.state = state;
  settings.blueprints = {runtime::plain_blueprint(settings.pool.backend)};
  settings.blueprints.front().pool_size = 1;
  const auto runtime = runtime::Runtime::open(co_await asio::this_coro::executor, settings, env,
                                              {.limits = backend::Limits::degraded});
  Trial trial = co_await try_script(runtime->pool());
  co_await runtime->close();
  co_return trial;
}

template <typename T>
T run_to_end(Task<T> task) {
  asio::io_context loop(1);
  std::future<T> result = asio::co_spawn(loop, std::move(task), asio::use_future);
  loop.run();
  return result.get();
}

Finding finding_of(const Trial& trial) {
  if (!trial.problem.empty())
    return {.what = "a sandbox",
            .found = "does not start",
            .state = State::missing,
            .consequence = trial.problem,
            .remedy = "fix what is named above"};
  return {.what = "a sandbox", .found = "starts and runs a script"};
}

std::string summary_of(const Trial& trial) {
  if (!trial.problem.empty())
    return "\nSandboxes do not start here. `allow_degraded` lets them start without protections "
           "whose lack only weakens them.\n";
  if (trial.degraded.empty()) return "\nSandboxes start here.\n";
  return "\nSandboxes start here, with degraded limits: " + joined(trial.degraded, ", ") + ".\n";
}

int examine(const settings::Env& env) {
  // As `hearth run` does: what it says is then true of that.
  runtime::enter_delegated_scope(env);
  const settings::Settings settings = configured(env);
  std::vector<Finding> findings = run_to_end(examine_backends(settings, env));
  const Trial trial = run_to_end(try_sandbox(settings.state, env));
  findings.push_back(finding_of(trial));
  std::cout << render_findings(findings, wants_colours(STDOUT_FILENO, env)) << summary_of(trial);
  return trial.problem.empty() ? exit_code::ok : exit_code::cannot_sandbox;
}

// Further lines stand below the first.
std::string indented(const std::string& text, std::size_t width) {
  std::string result;
  for (const char letter : text) {
    result += letter;
    if (letter == '\n') result.append(width, ' ');
  }
  return result;
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
    constexpr std::size_t found_at = 23;
    constexpr std::size_t remedy_at = 11;
    text += fmt::format("{}{}{}  {:<18} {}\n",
                        colour(good      ? "32"
                               : missing ? "31"
                                         : "33"),
                        mark, colour("0"), finding.what, indented(finding.found, found_at));
    if (good) continue;
    text += fmt::format("      {}\n      fix: {}\n", finding.consequence,
                        indented(finding.remedy, remedy_at));
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
