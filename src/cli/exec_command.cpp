#include "cli/exec_command.h"

#include "cli/command_run.h"
#include "cli/run_options.h"
#include "cli/runner_loop.h"
#include "cli/terminal.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace hearth::cli {
namespace {

constexpr const char* exec_details =
    R"(COMMAND is a program of the sandbox with its arguments, after --. With --shell a line for bash (sh
where there is none), and what follows -- are its arguments $1, $2 and so on. Its standard input is
that of hearth, and what it prints comes as it is, byte by byte, at the pace of its reader. `< /dev/null`
gives it no input: otherwise it takes what a loop in a script reads from.

The sandbox, its limits, --put, --get and --save are those of `hearth run`; see its help. Only bytes
that are passed on have no limit. With --json, they come as text in events, and their limit is the
blueprint's.

Exit code: the command's own; 127 it was not found, 126 it cannot be run. If it did not end by
itself, as for `hearth run`: 124 time-out, 130 interrupted, 137 killed for its memory, 128 and the
signal's number for any other it died of, 1 more output than --json allows. 2 and 3 can also be
hearth's: bad usage or configuration, no sandbox can be made; with --json it is told apart. 1 instead
of 0 if output could not be written, or something that --get or --save names not be copied out.)";

struct RawExecOptions {
  RawRunOptions sandbox;
  std::vector<std::string> command;
  std::string shell;
  std::string directory;
  bool on_terminal = false;
};

api::RunRequest request_of(const RawExecOptions& raw) {
  const bool is_line = !raw.shell.empty();
  return {.command = is_line ? std::vector<std::string>() : raw.command,
          .shell = raw.shell,
          .args = is_line ? raw.command : std::vector<std::string>(),
          .directory = raw.directory};
}

RunOptions checked(const RawExecOptions& raw) {
  RunOptions options = checked_sandbox(raw.sandbox);
  options.on_terminal = raw.on_terminal;
  if (raw.shell.empty() && raw.command.empty())
    throw CLI::RequiredError("a COMMAND after --, or --shell LINE");
  if (raw.shell.empty() && raw.command.front().empty())
    throw CLI::ValidationError("COMMAND", "names no program");
  if (raw.on_terminal && options.json != JsonAnswers::none)
    throw CLI::ValidationError("--tty", "excludes --json: a terminal shows bytes");
  if (raw.on_terminal && !has_terminal())
    throw CLI::ValidationError("--tty", "needs a terminal as standard input and output");
  return options;
}

}  // namespace

void add_exec_command(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("exec", "Run a command in a fresh sandbox");
  command->footer(exec_details);
  const auto raw = std::make_shared<RawExecOptions>();
  command->add_option("COMMAND", raw->command, "After --: a program and its arguments")
      ->type_name("");
  add_sandbox_options(*command, raw->sandbox, "the command");
  command->add_option("-s,--shell", raw->shell, "A line for a shell, in place of a program")
      ->type_name("LINE");
  add_cwd_option(*command, raw->directory);
  command->add_flag("--tty", raw->on_terminal,
                    "The command is on a terminal, which is this one: for programs like less");
  add_json_option(*command, raw->sandbox);
  command->callback([raw, &result] {
    const RunOptions options =
        checked_or_told(json_answers_of(raw->sandbox), [&] { return checked(*raw); });
    result = run_command_alone(options, request_of(*raw));
  });
}

}  // namespace hearth::cli
