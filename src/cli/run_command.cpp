#include "cli/run_command.h"

#include "base/log.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/prompt.h"
#include "cli/script_runner.h"
#include "cli/shared_options.h"
#include "cli/statement_reader.h"
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
    R"(Each FILE runs in a sandbox of its own; - is standard input, and so is no FILE at all. The
sandbox is the blueprint `default` of the configuration (--config, $HEARTH_CONFIG, ./hearth.toml,
/etc/hearth/hearth.toml), or a plain one when there is no configuration. A ./hearth.toml that was
not named may not reach outside of its directory, nor pass variables of the environment on.

Limits need cgroups. An ordinary user gets them from the systemd of its session, by a scope in which
hearth starts itself again (not if $HEARTH_SCOPE is off). Without them, memory is limited for each
process and CPU is not; the summary and the verdict then say "degraded".

Exit code: 0 ok, 1 the script failed, 2 bad usage or configuration, 3 sandboxes cannot be made on
this machine (`hearth doctor` says why), 124 time-out, 130 interrupted, 137 killed for its memory,
128 and the signal's number for any other it died of. Of several files, the first that is not 0;
with --interactive, the last step's. 1 instead of 0 if standard output could not be written to.)";

// All of them before anything is started: a missing file is found at once, and typing can
// still be interrupted.
struct Script {
  std::string file;
  std::string text;
};
std::vector<Script> read_scripts(const std::vector<std::string>& files) {
  std::vector<Script> scripts;
  for (const std::string& file : files) scripts.push_back({file, read_script(file)});
  return scripts;
}

bool says_goodbye(std::string_view statement) {
  for (const std::string_view word : {"exit\n", "exit()\n", "quit\n", "quit()\n"})
    if (statement == word) return true;
  return false;
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

Task<int> run_files(ScriptRunner& runner, const std::vector<Script>& scripts) {
  int first_failure = exit_code::ok;
  for (const Script& script : scripts) {
    const int code = co_await runner.run_script(script.text, script.file);
    if (first_failure == exit_code::ok) first_failure = code;
    if (code == exit_code::interrupted) break;
  }
  co_return first_failure;
}

// What a prompt is told until it ends; returns the last step's exit code.
Task<int> run_typed(ScriptRunner& runner, Prompt& prompt, int last) {
  StatementReader statement;
  while (const std::optional<Prompt::Line> line =
             prompt.line(statement.empty() ? ">>> " : "... ")) {
    if (line->was_dropped) {
      statement = {};
    } else if (statement.add(line->text)) {
      std::string text = statement.take();
      if (says_goodbye(text)) co_return last;
      last = co_await runner.run_step(std::move(text));
    }
  }
  if (!statement.empty()) last = co_await runner.run_step(statement.take());
  co_return last;
}

Task<int> run_all(ScriptRunner& runner, const RunOptions& options,
                  const std::vector<Script>& scripts, std::string history) {
  const bool show_build = ::isatty(STDERR_FILENO) == 1 && !options.quiet;
  pool::SandboxPool::OnProgress on_progress;
  if (show_build)
    on_progress = [](const std::string&, const std::string& line) { std::cerr << line << '\n'; };
  std::optional<Prompt> prompt;  // early, so that nothing of what is typed is lost
  if (options.interactive) prompt.emplace(std::move(history));
  co_await runner.open(std::move(on_progress));
  if (!prompt) co_return co_await run_files(runner, scripts);
  int last = exit_code::ok;
  for (const Script& script : scripts) last = co_await runner.run_step(script.text);
  co_return co_await run_typed(runner, *prompt, last);
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

int run(const RunOptions& options, const settings::Env& env) {
  const std::vector<Script> scripts = read_scripts(options.files);
  const RunPlan plan = make_run_plan(options, env);
  log::configure(
      plan.settings.log.level == log::Level::info ? log::Level::warning : plan.settings.log.level,
      plan.settings.log.format);
  const std::unique_ptr<RunOutput> output =
      options.as_json ? json_output(std::cout)
                      : human_output(std::cout, std::cerr,
                                     {.with_colours = wants_colours(STDERR_FILENO, env),
                                      .quiet = options.quiet || options.interactive,
                                      .in_steps = options.interactive});
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

int run_or_complain(const RunOptions& options) try {
  const settings::Env env = settings::current_env();
  if (options.backend.empty() || options.backend == "native") runtime::enter_delegated_scope(env);
  return run(options, env);
} catch (...) {
  return complain_about_current_exception();
}

struct RawOptions {
  RunOptions options;
  std::string config;
  std::string memory;
  std::string timeout;
  std::vector<std::string> env;
  std::vector<std::string> mounts;
};

void add_options(CLI::App& command, RawOptions& raw) {
  RunOptions& options = raw.options;
  command.add_option("FILE", options.files, "Python scripts; - is standard input")->type_name("");
  command.add_option("-c,--config", raw.config, "The configuration")->type_name("FILE");
  command.add_option("-b,--blueprint", options.blueprint, "Which blueprint of the configuration")
      ->type_name("NAME");
  command.add_option("-t,--timeout", raw.timeout, "Time limit of each script")
      ->type_name("SECONDS");
  command.add_option("-m,--memory", raw.memory, "Memory limit, like 512M or 2G")->type_name("SIZE");
  const auto repeated = [&](const char* names, std::vector<std::string>& into, const char* what,
                            const char* type) {
    command.add_option(names, into, what)->type_name(type)->allow_extra_args(false);
  };
  repeated("-e,--env", raw.env, "A variable for the script; without a value, ours", "NAME[=VALUE]");
  repeated("--mount", raw.mounts,
           "A file or directory to show inside, read-only unless :rw; its permissions hold, and a "
           "sandbox is an ordinary user",
           "HOST:PATH[:rw]");
  repeated("--tool", options.tools, "A Python file whose functions scripts may call", "FILE");
  add_backend_option(command, options);
  add_set_option(command, options.overrides);
  command.add_flag("-i,--interactive", options.interactive,
                   "Steps that share their variables: the files, then what is typed");
  command.add_flag("--json", options.as_json, "One event per line, the last one the verdict");
  command.add_flag("-q,--quiet", options.quiet, "No summary");
  command.add_flag("--allow-degraded", options.allow_degraded,
                   "Start although the kernel lacks a protection");
}

RunOptions checked(const RawOptions& raw) {
  RunOptions options = raw.options;
  if (!raw.config.empty()) options.config = raw.config;
  if (!raw.timeout.empty()) {
    options.timeout_seconds = parse_seconds(raw.timeout);
    if (!options.timeout_seconds)
      throw CLI::ValidationError(
          "--timeout", "expects seconds, more than 0 and at most a year, got " + raw.timeout);
  }
  if (!raw.memory.empty()) {
    options.memory_mb = parse_megabytes(raw.memory);
    if (!options.memory_mb)
      throw CLI::ValidationError("--memory", "expects a size like 512M or 2G, got " + raw.memory);
  }
  const settings::Env ours = settings::current_env();
  for (const std::string& text : raw.env) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) throw CLI::ValidationError("--env", "expects NAME[=VALUE], got " + text);
    const auto found = ours.find(name);
    if (equals != std::string::npos) {
      options.env[name] = text.substr(equals + 1);
    } else if (found != ours.end()) {
      options.env[name] = found->second;
    }
  }
  for (const std::string& text : raw.mounts) {
    const auto mount = parse_mount(text);
    if (!mount) throw CLI::ValidationError("--mount", "expects HOST:PATH[:rw], got " + text);
    if (!std::filesystem::exists(mount->host_path))
      throw CLI::ValidationError("--mount", text + ": there is no " + mount->host_path);
    options.mounts.push_back(*mount);
  }
  options.pool_size = 0;  // a sandbox is made when it is needed
  if (options.files.empty() && !options.interactive) {
    if (::isatty(STDIN_FILENO) == 1) throw CLI::RequiredError("FILE, - or --interactive");
    options.files = {"-"};
  }
  return options;
}

}  // namespace

void add_run_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("run", "Run Python scripts, each in a fresh sandbox");
  command->footer(run_details);
  const auto raw = std::make_shared<RawOptions>();
  add_options(*command, *raw);
  command->callback([raw, &result] { result = run_or_complain(checked(*raw)); });
}

}  // namespace hearth::cli
