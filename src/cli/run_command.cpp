#include "cli/run_command.h"

#include "base/language.h"
#include "base/log.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/json_session.h"
#include "cli/prompt.h"
#include "cli/prompt_session.h"
#include "cli/run_options.h"
#include "cli/script_runner.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"
#include "os/descriptor_limit.h"
#include "runtime/delegated_scope.h"
#include "runtime/state_directory.h"

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <exception>
#include <filesystem>
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
is a terminal. Files that end in .sh are in bash, those in .js in JavaScript (where the environment
has `node`), all others in Python, unless --language says otherwise. The sandbox is that of
--blueprint, else `default`, else the only one of the configuration (--config, $HEARTH_CONFIG,
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

// A script gets its KeyboardInterrupt; while there is none, everything else is given up.
Task<> pass_interrupts(ScriptRunner& runner, asio::cancellation_signal& give_up) {
  asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
  while (true) {
    co_await signals.async_wait(asio::use_awaitable);
    if (runner.is_running()) {
      co_await runner.interrupt();
    } else {
      runner.give_up();
      give_up.emit(asio::cancellation_type::terminal);
    }
  }
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

bool shows_builds(const RunOptions& options) {
  return ::isatty(STDERR_FILENO) == 1 && !options.quiet;
}

Task<int> run_all(ScriptRunner& runner, const RunOptions& options,
                  const std::vector<Script>& scripts, std::string history) {
  pool::SandboxPool::OnProgress on_progress;
  if (shows_builds(options)) on_progress = show_build_line;
  std::optional<Prompt> prompt;  // early, so that nothing of what is typed is lost
  if (options.interactive && options.json == JsonAnswers::none) prompt.emplace(std::move(history));
  co_await runner.open(std::move(on_progress));
  if (!options.interactive) co_return co_await run_files(runner, scripts);
  const int code = co_await run_steps(runner, options, scripts, prompt);
  const bool is_whole = co_await runner.take_files();
  co_return code == exit_code::ok && !is_whole ? exit_code::failure : code;
}

// Whatever happens, what was started is ended before the loop is left.
Task<> run_and_close(ScriptRunner& runner, const RunOptions& options,
                     const std::vector<Script>& scripts, std::string history,
                     asio::io_context& loop, int& code, std::exception_ptr& failure) {
  try {
    code = co_await run_all(runner, options, scripts, std::move(history));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await runner.close();
  loop.stop();
}

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

std::unique_ptr<RunOutput> output_for(const RunOptions& options, const settings::Env& env) {
  if (options.json == JsonAnswers::events) return event_output(std::cout);
  if (options.json == JsonAnswers::result) return result_output(std::cout);
  return human_output(std::cout, std::cerr,
                      {.with_colours = wants_colours(STDERR_FILENO, env),
                       .quiet = options.quiet || options.interactive,
                       .in_steps = options.interactive});
}

// What is wrong before anything is started is the caller's to fix.
template <typename Step>
auto before_the_start(Step step) try {
  return step();
} catch (const Error&) {
  api::Problem problem = api::problem_of(std::current_exception());
  if (problem.code != api::ProblemCode::internal) throw;
  problem.code = api::ProblemCode::invalid_request;
  throw api::RequestRefused(std::move(problem));
}

int run_planned(const RunPlan& plan, const RunOptions& options, const settings::Env& env,
                const std::vector<Script>& scripts) {
  log::configure(
      plan.settings.log.level == log::Level::info ? log::Level::warning : plan.settings.log.level,
      plan.settings.log.format);
  const std::unique_ptr<RunOutput> output = output_for(options, env);
  os::raise_descriptor_limit();
  asio::io_context loop(1);
  ScriptRunner runner(loop.get_executor(), plan, options, env, *output);
  const std::string history = runtime::state_directory(plan.settings, env) + "/history";
  int code = exit_code::failure;
  std::exception_ptr failure;
  asio::cancellation_signal give_up;
  asio::co_spawn(loop, pass_interrupts(runner, give_up), rethrow);
  asio::co_spawn(loop, run_and_close(runner, options, scripts, history, loop, code, failure),
                 asio::bind_cancellation_slot(give_up.slot(), rethrow));
  loop.run();
  rethrow(failure);
  return code;
}

int run(const RunOptions& options, const settings::Env& env) {
  const auto scripts = before_the_start([&] { return read_scripts(options); });
  const auto plan = before_the_start([&] { return make_run_plan(options, env); });
  before_the_start([&] { require_places(options.transfers); });
  return run_planned(plan, options, env, scripts);
}

bool is_interruption(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const boost::system::system_error& error) {
  return error.code() == asio::error::operation_aborted;
} catch (...) {
  return false;
}

// For a program that reads only standard output: why there is no result, or that its script was
// cancelled before it began.
void tell_failure(const RunOptions& options, const std::exception_ptr& failure) {
  if (!is_interruption(failure)) {
    std::cout << api::error_line(api::problem_of(failure)) << std::flush;
  } else if (!options.interactive) {
    const std::unique_ptr<RunOutput> output = output_for(options, {});
    const api::Execution execution{.id = api::new_execution_id()};
    output->started(execution);
    output->ended({.verdict = execution::Verdict::cancelled}, execution);
  }
}

// Only a native sandbox needs cgroups of this process.
void enter_scope(const RunOptions& options, const settings::Env& env) {
  if (options.backend.empty() || options.backend == "native") runtime::enter_delegated_scope(env);
}

int run_or_complain(const RunOptions& options) try {
  const settings::Env env = settings::current_env();
  enter_scope(options, env);
  return run(options, env);
} catch (...) {
  if (options.json != JsonAnswers::none) tell_failure(options, std::current_exception());
  return complain_about_current_exception(shows_builds(options) ? BuildLog::was_shown
                                                                : BuildLog::is_new);
}

RunOptions checked_or_told(const RawRunOptions& raw) try {
  return checked(raw);
} catch (const CLI::Error& error) {
  if (json_answers_of(raw) != JsonAnswers::none)
    std::cout << api::error_line({api::ProblemCode::invalid_request, error.what()}) << std::flush;
  throw;
}

}  // namespace

int run_own_script(RunOptions options, const std::string& script) try {
  const settings::Env env = settings::current_env();
  enter_scope(options, env);
  const RunPlan plan = make_run_plan(options, env);
  for (const std::string& name : plan.registry.secret_names_of(plan.blueprint))
    options.env[name] = "";
  return run_planned(plan, options, env, {{.file = {}, .text = script, .language = "python"}});
} catch (...) {
  return complain_about_current_exception();
}

void add_run_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("run", "Run scripts, each in a fresh sandbox");
  command->footer(run_details);
  const auto raw = std::make_shared<RawRunOptions>();
  add_run_options(*command, *raw);
  command->callback([raw, &result] { result = run_or_complain(checked_or_told(*raw)); });
}

}  // namespace hearth::cli
