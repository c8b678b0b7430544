#include "cli/run_command.h"

#include "base/language.h"
#include "cli/exit_code.h"
#include "cli/json_session.h"
#include "cli/prompt.h"
#include "cli/prompt_session.h"
#include "cli/run_options.h"
#include "cli/runner_loop.h"
#include "cli/shared_options.h"
#include "runtime/state_directory.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::cli {
namespace {

constexpr const char* run_details =
    R"(Each FILE runs in a sandbox of its own. - is standard input, and so is no FILE at all, unless that
is a terminal. Files that end in .py are in Python, those in .sh in bash, those in .js in JavaScript
(where the environment has `node`), unless --language says otherwise; all others in the blueprint's
`language`, which is Python unless it says otherwise. The sandbox is that of --blueprint, else `default`, else the only one of the configuration (--config, $HEARTH_CONFIG,
./hearth.toml, /etc/hearth/hearth.toml), or a plain one when there is no configuration. A
./hearth.toml that was not named may not reach outside of its directory, nor pass variables of the
environment on. A --tool takes the place of a configured one of its name.

Limits need cgroups. An ordinary user gets them from the systemd of its session, by a scope in which
hearth starts itself again (not if $HEARTH_SCOPE is off). Without them, memory is limited for each
process and CPU is not; the summary and the verdict then say "degraded".

--put copies files into each sandbox before its start. --get and --save copy out of it afterwards,
also when the script failed; of several FILEs only with --interactive, at the end. Nothing of this
machine is overwritten without --force. Without them, files in /workspace are gone with the sandbox.

With --json standard output has nothing but JSON, also about a start that fails; what it says, and
how a program runs a session of steps with --interactive --json, is in docs/from-python.md.

Exit code: 0 ok, 1 the script failed, 2 bad usage or configuration, 3 sandboxes cannot be made on
this machine (`hearth doctor` says why), 124 time-out, 130 interrupted, 137 killed for its memory,
128 and the signal's number for any other it died of. Of several files, the first that is not 0;
with --interactive, the last step's (with --json: 0). 1 instead of 0 if standard output could not be
written to, or something that --get or --save names could not be copied out.)";

// All of them before anything is started: a missing file is found at once, and typing can
// still be interrupted.
struct Script {
  std::string file;
  std::string text;
  std::string language;
};
std::string language_of(const std::string& file, const RunOptions& options) {
  if (!options.language.empty()) return options.language;
  const Language* language = language_of_file(file);
  return language == nullptr ? std::string() : std::string(language->name);
}
std::vector<Script> read_scripts(const RunOptions& options) {
  std::vector<Script> scripts;
  for (const std::string& file : options.files)
    scripts.push_back({file, read_script(file), language_of(file, options)});
  return scripts;
}

ScriptRunner::Run run_of(const Script& script) {
  return {.request = {.code = script.text, .language = script.language}, .file = script.file};
}

Task<int> run_files(ScriptRunner& runner, const std::vector<Script>& scripts) {
  int first_failure = exit_code::ok;
  for (const Script& script : scripts) {
    const int code = co_await runner.run_script(run_of(script));
    if (first_failure == exit_code::ok) first_failure = code;
    if (code == exit_code::interrupted) break;
  }
  co_return first_failure;
}

Task<int> run_steps(ScriptRunner& runner, const RunOptions& options,
                    const std::vector<Script>& scripts, std::optional<Prompt>& prompt) {
  int last = exit_code::ok;
  for (const Script& script : scripts) {
    last = co_await runner.run_step(run_of(script));
    if (prompt && runner.has_left()) co_return last;
  }
  if (prompt) {
    // Before the prompt, which comes with what is known of that sandbox.
    const backend::Sandbox* const sandbox = co_await runner.steps_sandbox();
    if (prompt->on_terminal() && !options.quiet)
      std::cout << banner_of(*sandbox, runner.blueprint(), options.timeout_seconds);
    co_return co_await run_typed(runner, *prompt, last);
  }
  JsonSession session(co_await asio::this_coro::executor, runner, std::cout);
  co_await session.run();
  co_return exit_code::ok;  // each answer has its verdict
}

Task<int> run_all(ScriptRunner& runner, const RunOptions& options,
                  const std::vector<Script>& scripts, std::string history) {
  std::optional<Prompt> prompt;  // early, so that nothing of what is typed is lost
  if (options.interactive && options.json == JsonAnswers::none) prompt.emplace(std::move(history));
  co_await open_shown(runner, options);
  if (!options.interactive) co_return co_await run_files(runner, scripts);
  const int code = co_await run_steps(runner, options, scripts, prompt);
  const bool is_whole = co_await runner.take_files();
  co_return code == exit_code::ok && !is_whole ? exit_code::failure : code;
}

int run_planned(const RunPlan& plan, const RunOptions& options, const settings::Env& env,
                const std::vector<Script>& scripts) {
  const std::string history = runtime::state_directory(plan.settings, env) + "/history";
  return run_to_end(plan, options, env, [&](ScriptRunner& runner) {
    return run_all(runner, options, scripts, history);
  });
}

int run(const RunOptions& options, const settings::Env& env) {
  const auto scripts = before_the_start([&] { return read_scripts(options); });
  const auto plan = before_the_start([&] { return make_run_plan(options, env); });
  before_the_start([&] { require_places(options.transfers); });
  return run_planned(plan, options, env, scripts);
}

}  // namespace

int run_own_script(RunOptions options, const std::string& script) {
  return told(options, [&](const settings::Env& env) {
    const RunPlan plan = make_run_plan(options, env);
    for (const std::string& name : plan.registry.secret_names_of(plan.blueprint))
      options.env[name] = "";
    return run_planned(plan, options, env, {{.file = {}, .text = script, .language = "python"}});
  });
}

void add_run_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("run", "Run scripts, each in a fresh sandbox");
  command->footer(run_details);
  const auto raw = std::make_shared<RawRunOptions>();
  add_run_options(*command, *raw);
  command->callback([raw, &result] {
    const RunOptions options =
        checked_or_told(json_answers_of(*raw), [&] { return checked(*raw); });
    result = told(options, [&](const settings::Env& env) { return run(options, env); });
  });
}

}  // namespace hearth::cli
