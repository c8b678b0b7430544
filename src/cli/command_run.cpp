#include "cli/command_run.h"

#include "base/joined.h"
#include "cli/runner_loop.h"
#include "cli/standard_streams.h"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

#include <iostream>
#include <utility>

namespace hearth::cli {
namespace {

// The programs inside have to know what they draw on.
void name_terminal(RunOptions& options, const settings::Env& env) {
  if (!options.on_terminal) return;
  for (const char* name : {"TERM", "COLORTERM"})
    if (const auto found = env.find(name); found != env.end())
      options.env.try_emplace(name, found->second);
}

std::string greeting_of(const std::string& program, const backend::Sandbox& sandbox,
                        const blueprint::SandboxConfig& config, const RunOptions& options) {
  const std::string time = options.timeout_seconds ? fmt::format("{:g} s", *options.timeout_seconds)
                                                   : std::string("no time limit");
  const std::string degraded = joined(sandbox.degraded(), ", ");
  return fmt::format(
      "{} in a sandbox: {} MB, {}, no network.{}\n"
      "`exit` or Ctrl-D ends it, and with it all its files but those of --get and --save.\n",
      program, config.resource_limits.memory_mb, time,
      degraded.empty() ? degraded : " (degraded: " + degraded + ")");
}

Task<int> run(ScriptRunner& runner, const RunOptions& options, api::RunRequest request,
              CommandWords words) {
  StandardStreams streams(co_await asio::this_coro::executor,
                          {.has_terminal = options.on_terminal,
                           .takes_output = options.json == JsonAnswers::none,
                           .ends_line = !options.quiet});
  co_await open_shown(runner, options);
  ScriptRunner::Run run{.request = std::move(request), .streams = &streams};
  run.if_missing = words.if_missing;
  if (!words.greeting.empty() && !options.quiet)
    run.on_sandbox = [&](const backend::Sandbox& sandbox) {
      std::cout << greeting_of(words.greeting, sandbox, runner.blueprint(), options) << std::flush;
    };
  co_return co_await runner.run_script(std::move(run));
}

}  // namespace

int run_command_alone(RunOptions options, const api::RunRequest& request,
                      const CommandWords& words) {
  return told(options, [&](const settings::Env& env) {
    name_terminal(options, env);
    const auto plan = before_the_start([&] { return make_run_plan(options, env); });
    before_the_start([&] { require_places(options.transfers); });
    return run_to_end(plan, options, env,
                      [&](ScriptRunner& runner) { return run(runner, options, request, words); });
  });
}

}  // namespace hearth::cli
