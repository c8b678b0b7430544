#include "cli/bench_command.h"

#include "base/log.h"
#include "cli/bench_report.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/shared_options.h"
#include "os/descriptor_limit.h"
#include "runtime/delegated_scope.h"
#include "runtime/runtime.h"

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <exception>
#include <iostream>
#include <memory>
#include <utility>

namespace hearth::cli {
namespace {

constexpr const char* bench_details =
    R"(Clients check sandboxes out of a pool in this process, run the script in each and give it back, as
agents would; the table says what they saw, and the last lines what would make it faster: the size of
the pool, modules to preload, or that the machine is the limit. Exit code: 1 if a turn failed.
All clients are one owner, so that a sandbox may serve several of them (--max-uses).
Without --script it is a script that does next to nothing, so that what is measured is Hearth.)";

struct BenchOptions {
  RunOptions run{};
  std::string config{};
  std::string script_file{};
  RawScriptOptions script_gets{};
  LoadOptions load{};
  double duration_seconds = 0;
  std::int64_t think_ms = 50;  // so that not the CPUs are measured but what clients see
  std::optional<std::int64_t> max_overflow{};
  std::optional<std::int64_t> max_uses{};
  bool as_json = false;
};

RunPlan plan_for(const BenchOptions& options, const settings::Env& env) {
  RunPlan plan = make_run_plan(options.run, env);
  settings::PoolSettings& pool = plan.settings.pool;
  if (options.max_overflow) pool.max_overflow = *options.max_overflow;
  if (options.max_uses) pool.max_uses = *options.max_uses;
  return plan;
}

Task<> show_progress(const Load& load) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (true) {
    pause.expires_after(std::chrono::milliseconds(200));
    co_await pause.async_wait(asio::use_awaitable);
    std::cerr << "\r\033[K" << bench_progress(load.result()) << std::flush;
  }
}

Task<> stop_on_signal(Load& load, bool& was_stopped) {
  asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
  co_await signals.async_wait(asio::use_awaitable);
  was_stopped = true;
  load.stop();
}

bool shows_progress(const BenchOptions& options) {
  return ::isatty(STDERR_FILENO) == 1 && !options.as_json;
}

Task<LoadResult> measure(pool::SandboxPool& pool, const BenchOptions& options,
                         const std::string& blueprint, bool& was_stopped) {
  const bool is_watched = shows_progress(options);
  pool::SandboxPool::OnProgress on_build_line;
  if (is_watched) on_build_line = show_build_line;
  co_await pool.startup({blueprint}, on_build_line);
  LoadOptions wanted = options.load;
  wanted.blueprint = blueprint;
  Load load(pool, wanted);
  TaskGroup beside(co_await asio::this_coro::executor);
  beside.start("stop on a signal", stop_on_signal(load, was_stopped));
  if (is_watched) beside.start("show progress", show_progress(load));
  co_await load.run();
  co_await beside.close();
  if (!was_stopped) co_await load.time_imports();
  if (is_watched) std::cerr << "\r\033[K" << std::flush;
  co_return load.result();
}

struct Outcome {
  LoadResult result{};
  bool was_stopped = false;
  std::exception_ptr failure{};
};

Task<> measure_and_close(runtime::Runtime& runtime, const BenchOptions& options,
                         const std::string& blueprint, asio::io_context& loop, Outcome& outcome) {
  try {
    outcome.result = co_await measure(runtime.pool(), options, blueprint, outcome.was_stopped);
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  co_await runtime.close();
  loop.stop();
}

int bench(const BenchOptions& options, const settings::Env& env) {
  os::raise_descriptor_limit();
  log::configure(log::Level::error, log::Format::text);
  const RunPlan plan = plan_for(options, env);
  asio::io_context loop(1);
  const std::unique_ptr<runtime::Runtime> runtime =
      runtime::Runtime::open(loop.get_executor(), plan.settings, env,
                             {.registry = plan.registry, .configuration = plan.configuration});
  Outcome outcome;
  asio::co_spawn(loop, measure_and_close(*runtime, options, plan.blueprint, loop, outcome),
                 [](const std::exception_ptr& failure) {
                   if (failure) std::rethrow_exception(failure);
                 });
  loop.run();
  if (outcome.failure) std::rethrow_exception(outcome.failure);
  std::cout << (options.as_json ? bench_json(outcome.result) : bench_table(outcome.result));
  if (outcome.was_stopped) return exit_code::interrupted;
  const bool is_good = outcome.result.refused == 0 && outcome.result.failed == 0;
  return is_good ? exit_code::ok : exit_code::failure;
}

int bench_or_complain(const BenchOptions& options) try {
  const settings::Env env = settings::current_env();
  if (options.run.backend.empty() || options.run.backend == "native")
    runtime::enter_delegated_scope(env);
  return bench(options, env);
} catch (...) {
  return complain_about_current_exception(shows_progress(options) ? BuildLog::was_shown
                                                                  : BuildLog::is_new);
}

void add_options(CLI::App& command, BenchOptions& options) {
  command.add_option("-c,--config", options.config, "The configuration")->type_name("FILE");
  command
      .add_option("-b,--blueprint", options.run.blueprint, "Which blueprint of the configuration")
      ->type_name("NAME");
  command
      .add_option("--script", options.script_file,
                  "Script that each turn runs; - is standard input")
      ->type_name("FILE");
  command.add_option("-n,--clients", options.load.clients, "Number of concurrent clients")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  CLI::Option* turns =
      command
          .add_option("-t,--turns", options.load.turns, "Number of turns of all clients together")
          ->check(CLI::Range(1, 1'000'000'000))
          ->capture_default_str();
  command
      .add_option("-d,--duration", options.duration_seconds,
                  "Length of the measurement, instead of a number of turns")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86'400.0))
      ->excludes(turns);
  command.add_option("--think", options.think_ms, "Pause of a client between two turns")
      ->type_name("MILLISECONDS")
      ->check(CLI::Range(0, 3'600'000))
      ->capture_default_str();
  command
      .add_option("--pool-size", options.run.pool_size,
                  "Number of warm sandboxes, instead of the blueprint's")
      ->check(CLI::Range(0, 100'000));
  command
      .add_option("--max-overflow", options.max_overflow,
                  "Number of sandboxes above the pool size, instead of the configuration's")
      ->check(CLI::Range(0, 100'000));
  command
      .add_option("--max-uses", options.max_uses,
                  "Leases of one sandbox, all of one owner (default: the configuration's)")
      ->check(CLI::Range(1, 1'000'000'000));
  add_script_options(command, options.script_gets);
  add_backend_option(command, options.run);
  add_python_option(command, options.run);
  add_set_option(command, options.run.overrides);
  command.add_flag("--json", options.as_json, "One line for programs; times in microseconds");
  command.add_flag("--allow-degraded", options.run.allow_degraded,
                   "Start although the kernel lacks a protection");
}

BenchOptions checked(BenchOptions options) {
  if (!options.config.empty()) options.run.config = options.config;
  if (options.duration_seconds > 0)
    options.load.duration =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.duration_seconds * 1000));
  options.load.think_time = std::chrono::milliseconds(options.think_ms);
  apply(options.script_gets, options.run);
  options.load.env = options.run.env;
  options.load.script = "x = sum(range(10))";
  if (!options.script_file.empty()) options.load.script = read_script(options.script_file);
  return options;
}

}  // namespace

void add_bench_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("bench", "Measure a pool of sandboxes under load");
  command->footer(bench_details);
  const auto options = std::make_shared<BenchOptions>();
  add_options(*command, *options);
  command->callback([options, &result] {
    try {
      result = bench_or_complain(checked(*options));
    } catch (const Error& error) {
      std::cerr << "hearth: " << error.what() << '\n';
      result = exit_code::invalid_input;
    }
  });
}

}  // namespace hearth::cli
