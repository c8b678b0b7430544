#include "cli/shell_command.h"

#include "cli/command_run.h"
#include "cli/exit_code.h"
#include "cli/run_options.h"
#include "cli/terminal.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace hearth::cli {
namespace {

constexpr const char* shell_details =
    R"(bash in a sandbox like those of `hearth run`, with this terminal: all keys go to the programs inside,
Ctrl-C too, and they see when its size changes. `exit` or Ctrl-D ends it; so does a signal to hearth.
There is no time limit unless --timeout names one; the other limits are the blueprint's. When it is
over, its sandbox is gone with all that ran in it: --get and --save copy files out.

Another program on a terminal: hearth exec --tty -- PROGRAM.

Exit code: bash's own, else as for `hearth run`: 124 time-out, 130 ended by a signal to hearth, 137
killed for its memory. 127 there is no bash in the environment.)";

constexpr const char* no_bash =
    "there is no bash in the environment of this sandbox; `hearth exec --tty -- sh` starts another "
    "shell";

struct RawShellOptions {
  RawRunOptions sandbox;
  std::string directory;
};

RunOptions checked(const RawShellOptions& raw) {
  if (!has_terminal())
    throw CLI::ValidationError(
        "it needs a terminal as standard input and output; `hearth exec -- COMMAND` needs none");
  RunOptions options = checked_sandbox(raw.sandbox);
  options.on_terminal = true;
  options.without_time_limit = true;
  options.env.try_emplace("PS1", R"(sandbox:\w\$ )");
  return options;
}

}  // namespace

void add_shell_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("shell", "Look around in a fresh sandbox with bash");
  command->footer(shell_details);
  const auto raw = std::make_shared<RawShellOptions>();
  add_sandbox_options(*command, raw->sandbox, "the shell, which has none otherwise");
  add_cwd_option(*command, raw->directory);
  command->callback([raw, &result] {
    const RunOptions options = checked(*raw);
    result = run_command_alone(options, {.command = {"bash"}, .directory = raw->directory},
                               {.greeting = "bash", .if_missing = no_bash});
  });
}

}  // namespace hearth::cli
