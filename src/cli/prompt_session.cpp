#include "cli/prompt_session.h"

#include "base/joined.h"
#include "cli/statement_reader.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace hearth::cli {
namespace {

bool says_goodbye(std::string_view statement) {
  for (const std::string_view word : {"exit\n", "exit()\n", "quit\n", "quit()\n"})
    if (statement == word) return true;
  return false;
}

Task<int> run_text(ScriptRunner& runner, std::string text) {
  ScriptRunner::Run run;
  run.request.code = std::move(text);
  run.request.language = "python";  // as the prompt says, whatever the blueprint's is
  co_return co_await runner.run_step(std::move(run));
}

// True when there is a whole statement to run.
bool add(StatementReader& statement, const std::string& typed) {
  const bool came_at_once = typed.find('\n') != std::string::npos;
  return came_at_once ? statement.add_all(typed) : statement.add(typed);
}

}  // namespace

std::string banner_of(const backend::Sandbox& sandbox, const blueprint::SandboxConfig& config,
                      std::optional<double> step_seconds) {
  const blueprint::ResourceLimits& limits = config.resource_limits;
  const std::string python = sandbox.python().version;
  const std::string degraded = joined(sandbox.degraded(), ", ");
  return fmt::format(
      "Python {} in a sandbox: {} MB, {:g} s a step, no network.{}\n"
      "Ctrl-C ends a step, Ctrl-D or exit() the session.\n",
      python.empty() ? config.python_version : python, limits.memory_mb,
      step_seconds.value_or(static_cast<double>(limits.execution_timeout_sec)),
      degraded.empty() ? degraded : " (degraded: " + degraded + ")");
}

Task<int> run_typed(ScriptRunner& runner, Prompt& prompt, int last) {
  StatementReader statement;
  while (const std::optional<Prompt::Line> line =
             prompt.line(statement.empty() ? ">>> " : "... ")) {
    if (line->was_dropped) {
      statement = {};
    } else if (add(statement, line->text)) {
      std::string text = statement.take();
      prompt.remember(text);
      if (says_goodbye(text)) co_return last;
      last = co_await run_text(runner, std::move(text));
      if (runner.has_left()) co_return last;
    }
  }
  if (!statement.empty()) last = co_await run_text(runner, statement.take());
  co_return last;
}

}  // namespace hearth::cli
