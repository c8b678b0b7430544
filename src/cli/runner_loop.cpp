#include "cli/runner_loop.h"

#include "base/log.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "os/descriptor_limit.h"
#include "runtime/delegated_scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>

namespace hearth::cli {
namespace {

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

// Whatever happens, what was started is ended before the loop is left.
Task<> run_and_close(ScriptRunner& runner, const RunnerWork& work, asio::io_context& loop,
                     int& code, std::exception_ptr& failure) {
  try {
    code = co_await work(runner);
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
                       .in_steps = options.interactive,
                       .on_terminal = options.on_terminal});
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

bool shows_builds(const RunOptions& options) {
  return ::isatty(STDERR_FILENO) == 1 && !options.quiet;
}

// Only a native sandbox needs cgroups of this process.
void enter_scope(const RunOptions& options, const settings::Env& env) {
  if (options.backend.empty() || options.backend == "native") runtime::enter_delegated_scope(env);
}

}  // namespace

int run_to_end(const RunPlan& plan, const RunOptions& options, const settings::Env& env,
               const RunnerWork& work) {
  log::configure(
      plan.settings.log.level == log::Level::info ? log::Level::warning : plan.settings.log.level,
      plan.settings.log.format);
  const std::unique_ptr<RunOutput> output = output_for(options, env);
  os::raise_descriptor_limit();
  asio::io_context loop(1);
  ScriptRunner runner(loop.get_executor(), plan, options, env, *output);
  int code = exit_code::failure;
  std::exception_ptr failure;
  asio::cancellation_signal give_up;
  asio::co_spawn(loop, pass_interrupts(runner, give_up), rethrow);
  asio::co_spawn(loop, run_and_close(runner, work, loop, code, failure),
                 asio::bind_cancellation_slot(give_up.slot(), rethrow));
  loop.run();
  rethrow(failure);
  return code;
}

Task<> open_shown(ScriptRunner& runner, const RunOptions& options) {
  pool::SandboxPool::OnProgress on_progress;
  if (shows_builds(options)) on_progress = show_build_line;
  co_await runner.open(std::move(on_progress));
}

int told(const RunOptions& options, const std::function<int(const settings::Env&)>& attempt) try {
  const settings::Env env = settings::current_env();
  enter_scope(options, env);
  return attempt(env);
} catch (...) {
  if (options.json != JsonAnswers::none) tell_failure(options, std::current_exception());
  return complain_about_current_exception(shows_builds(options) ? BuildLog::was_shown
                                                                : BuildLog::is_new);
}

void tell_bad_usage(const CLI::Error& error) {
  std::cout << api::error_line({api::ProblemCode::invalid_request, error.what()}) << std::flush;
}

}  // namespace hearth::cli
