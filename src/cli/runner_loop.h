// cli/runner_loop.h: what `hearth run`, `exec` and `shell` share around their turns: the loop,
// Ctrl-C, what is told of a failure, and that all that was started is ended.
#pragma once

#include "api/problem.h"
#include "async/task.h"
#include "base/error.h"
#include "cli/run_plan.h"
#include "cli/script_runner.h"

#include <CLI/CLI.hpp>

#include <exception>
#include <functional>
#include <utility>

namespace hearth::cli {

// Returns the exit code.
using RunnerWork = std::function<Task<int>(ScriptRunner& runner)>;
int run_to_end(const RunPlan& plan, const RunOptions& options, const settings::Env& env,
               const RunnerWork& work);

// Builds the environment; what takes long is shown on a terminal.
Task<> open_shown(ScriptRunner& runner, const RunOptions& options);

// The exit code of `attempt`, or of what it throws, which is told: as JSON too, if the caller wants
// that. Enters the scope that limits need.
int told(const RunOptions& options, const std::function<int(const settings::Env&)>& attempt);

// For a program that reads only standard output.
void tell_bad_usage(const CLI::Error& error);

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

// `check` returns the options as they are used. CLI::Error, which is told as JSON, too.
template <typename Check>
RunOptions checked_or_told(JsonAnswers answers, Check check) try {
  return check();
} catch (const CLI::Error& error) {
  if (answers != JsonAnswers::none) tell_bad_usage(error);
  throw;
}

}  // namespace hearth::cli
