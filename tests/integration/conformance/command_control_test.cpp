// What the host does with commands that run, on every backend: input, output, signals, sizes, ends,
// and several of them at once.
#include "tests/support/any_backend.h"
#include "tests/support/running_command.h"

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

template <typename Backend>
struct Commands {
  Backend backend;
  std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();

  explicit Commands(blueprint::SandboxConfig config = Backend::config())
      : backend(std::move(config)) {}

  static wire::ExecRequest line(std::string shell, bool on_terminal = false) {
    wire::ExecRequest request;
    request.shell = std::move(shell);
    request.timeout_seconds = 300;
    request.max_output_bytes = std::uint64_t{1} << 40;
    if (on_terminal) request.terminal = wire::TerminalSize{80, 24};
    return request;
  }
  std::unique_ptr<RunningCommand> start(wire::ExecRequest request, CommandInTest streams = {}) {
    return std::make_unique<RunningCommand>(backend.loop(), *sandbox, std::move(request),
                                            std::move(streams),
                                            execution::ExecutorOptions{std::chrono::seconds(60)});
  }
  std::string run(const std::string& script) {
    const auto result = backend.run_in(*sandbox, script, 120);
    INFO("error: ", result.error ? result.error->traceback : "none");
    REQUIRE(result.verdict == Verdict::ok);
    return result.stdout_text;
  }
  execution::ExecutionResult run(wire::ExecRequest request) {
    return backend.run_in(*sandbox, std::move(request));
  }
  // The name of the error of one that is not started.
  std::string failure_of(wire::ExecRequest request) {
    const auto result = run(std::move(request));
    CHECK_FALSE(result.started);
    REQUIRE(result.error.has_value());
    return result.error->name;
  }
};

// All processes of that name.
std::string count_of(const std::string& name) {
  return "import os\ndef name(pid):\n    try: return open(f'/proc/{pid}/comm').read().strip()\n"
         "    except OSError: return ''\n"
         "print([name(pid) for pid in os.listdir('/proc') if pid.isdigit()].count('" +
         name + "'))\n";
}

}  // namespace

TEST_CASE_TEMPLATE("what a command reads and prints goes through byte by byte", Backend,
                   ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  std::string bytes;
  for (unsigned number = 0; bytes.size() < 3'000'000; ++number)
    bytes += static_cast<char>(number * number >> 3);
  const auto copy = commands.start(commands.line("cat; echo end >&2; exit 3"), {.input = bytes});
  const auto result = copy->finished();
  CHECK(result.exit_code == 3);
  CHECK(result.pid == copy->pid);
  CHECK((copy->output == bytes));
  CHECK(copy->errors == "end\n");
}

TEST_CASE_TEMPLATE("a command on a terminal is talked to, resized and interrupted", Backend,
                   ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  wire::ExecRequest request = commands.line({}, true);
  request.shell.clear();
  request.argv = {"python3", "-c", R"py(
import os, signal, sys
def say(*words): print(*words, flush=True)
signal.signal(signal.SIGWINCH, lambda *_: say('size', *os.get_terminal_size()))
signal.signal(signal.SIGINT, lambda *_: say('interrupted'))
say('ready')
for line in sys.stdin: say('<' + line.strip() + '>')
say('bye')
sys.exit(7)
)py"};
  const auto shell = commands.start(request, {.input_stays_open = true});
  SandboxChannel& channel = commands.sandbox->channel();
  shell->wait_for_output("ready\r\n");
  CHECK(shell->write("first\n"));
  shell->wait_for_output("<first>\r\n");
  channel.post(wire::ResizeRequest{shell->id, {132, 50}});
  shell->wait_for_output("size 132 50\r\n");
  CHECK(shell->write("\x03"));
  shell->wait_for_output("interrupted\r\n");
  shell->end_input();
  CHECK(shell->finished().exit_code == 7);
  CHECK(shell->output.ends_with("bye\r\n"));
}

TEST_CASE_TEMPLATE("signals reach a command's group or all its processes, and no other's", Backend,
                   ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  const auto other = commands.start(commands.line("trap 'echo hit' USR1; echo on; cat"),
                                    {.input_stays_open = true});
  other->wait_for_output("on\n");
  const auto one = commands.start(commands.line(
      "trap 'echo group' USR1; "
      "setsid sh -c 'trap \"echo apart\" USR1; echo on; while :; do sleep 0.05; done' & "
      "while :; do sleep 0.05; done"));
  one->wait_for_output("on\n");
  SandboxChannel& channel = commands.sandbox->channel();
  channel.post(wire::SignalRequest{one->id, "NONE", true});
  channel.post(wire::SignalRequest{"another id", "KILL", true});
  channel.post(wire::SignalRequest{one->id, "USR1", false});
  one->wait_for_output("group\n");
  CHECK(one->output == "on\ngroup\n");
  channel.post(wire::SignalRequest{one->id, "USR1", true});
  one->wait_for_output("apart\n");
  channel.post(wire::SignalRequest{one->id, "KILL", true});
  const auto result = one->finished();
  CHECK(result.verdict == Verdict::crashed);
  CHECK(result.signal == SIGKILL);
  other->end_input();
  CHECK(other->finished().verdict == Verdict::ok);
  CHECK(other->output == "on\n");
  CHECK(commands.run(count_of("sleep")) == "0\n");
}

TEST_CASE_TEMPLATE("a command that is cancelled gets an interrupt, and then its end", Backend,
                   ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  const auto polite = commands.start(commands.line("trap 'echo bye; exit' INT; echo on; cat"),
                                     {.input_stays_open = true});
  const auto deaf = commands.start(
      commands.line("trap '' INT TERM; setsid sleep 600 & echo on; while :; do sleep 600; done"));
  polite->wait_for_output("on\n");
  deaf->wait_for_output("on\n");
  for (const auto& command : {polite.get(), deaf.get()}) {
    run_task(commands.backend.loop(), command->executor().cancel());
    const auto result = command->finished();
    CHECK(result.verdict == Verdict::cancelled);
    CHECK(result.sandbox_usable);
  }
  CHECK(polite->output == "on\nbye\n");
  CHECK(commands.run(count_of("sleep")) == "0\n");
}

TEST_CASE_TEMPLATE("many commands run at once beside a script, and one too many is refused",
                   Backend, ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.resource_limits.pids_limit = 300;
  Commands<Backend> commands(config);
  constexpr int most = 64;
  std::vector<std::unique_ptr<RunningCommand>> running;
  for (int number = 0; number < most; ++number)
    running.push_back(commands.start(commands.line("read word; echo \"$word\"; exit 0"),
                                     {.input_stays_open = true}));
  for (const auto& command : running) command->wait_for_start();
  CHECK(commands.failure_of(commands.line("true")) == "TooManyCommands");
  CHECK(commands.run("print('beside them')") == "beside them\n");
  // In another order than they were started in, each with its own.
  for (int number = most - 1; number >= 0; --number) {
    RunningCommand& command = *running[static_cast<std::size_t>(number)];
    CHECK(command.write(std::to_string(number) + "\n"));
    CHECK(command.finished().verdict == Verdict::ok);
    CHECK(command.output == std::to_string(number) + "\n");
  }
  CHECK(commands.run(commands.line("true")).verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("a command that cannot be run says why, and none of it has run", Backend,
                   ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  const auto failure = [&](std::vector<std::string> argv, const std::string& directory = {}) {
    wire::ExecRequest request;
    request.argv = std::move(argv);
    request.directory = directory;
    request.timeout_seconds = 60;
    return commands.failure_of(request);
  };
  CHECK(failure({"no-such-program"}) == "CommandNotFound");
  CHECK(failure({"/etc/passwd"}) == "CommandNotExecutable");
  CHECK(failure({"/workspace"}) == "CommandNotExecutable");
  CHECK(failure({"true"}, "nowhere") == "InvalidDirectory");
  CHECK(failure({"true"}, "/proc/1/cwd") == "InvalidDirectory");
  wire::ExecRequest unknown = commands.line({});
  unknown.language = "cobol";
  unknown.script = "DISPLAY 1";
  CHECK(commands.failure_of(unknown) == "CommandFailed");
  wire::ExecRequest secretive = commands.line("true");
  secretive.secrets = {"KEY"};
  CHECK(commands.failure_of(secretive) == "MissingSecret");
  wire::ExecRequest late = commands.line("sleep 600");
  late.timeout_seconds = 0.5;
  const auto result = commands.run(late);
  CHECK(result.verdict == Verdict::timeout);
  REQUIRE(result.error.has_value());
  CHECK(result.error->name == "CommandTimeout");
}

TEST_CASE_TEMPLATE("a script that can kill a command has made it crash, and no other thing",
                   Backend, ON_EVERY_BACKEND) {
  Commands<Backend> commands;
  const auto victim =
      commands.start(commands.line("echo on; cat; echo survived"), {.input_stays_open = true});
  const auto other =
      commands.start(commands.line("echo on; cat; echo survived"), {.input_stays_open = true});
  victim->wait_for_start();  // its pid may be told after what it prints
  victim->wait_for_output("on\n");
  other->wait_for_output("on\n");
  const std::string killed = commands.run(R"py(
import os, signal
try:
    os.kill()py" + std::to_string(victim->pid) +
                                          R"py(, signal.SIGKILL)
    print('killed')
except PermissionError: print('refused')
)py");
  if (killed == "refused\n") {
    // Landlock keeps signals of a script within it.
    victim->end_input();
    CHECK(victim->finished().verdict == Verdict::ok);
    CHECK(victim->output == "on\nsurvived\n");
  } else {
    const auto result = victim->finished();
    CHECK(result.verdict == Verdict::crashed);
    CHECK(result.signal == SIGKILL);
    CHECK(result.sandbox_usable);
    CHECK(victim->output == "on\n");
  }
  other->end_input();
  CHECK(other->finished().verdict == Verdict::ok);
  CHECK(other->output == "on\nsurvived\n");
  CHECK(commands.run(count_of("cat")) == "0\n");
}
