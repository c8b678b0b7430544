// Commands in a sandbox: what they run, how they end, and what becomes of their processes.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <linux/landlock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

wire::ExecRequest program(std::vector<std::string> argv) {
  wire::ExecRequest request;
  request.argv = std::move(argv);
  request.timeout_seconds = 20;
  return request;
}

wire::ExecRequest in_language(const std::string& language, std::string script,
                              std::vector<std::string> args = {}) {
  wire::ExecRequest request = program(std::move(args));
  request.language = language;
  request.script = std::move(script);
  return request;
}

// All but init, the harness and what waits for the next script: whatever a command left.
constexpr const char* count_sleepers = R"py(
import os
def name(pid):
    try: return open(f"/proc/{pid}/comm").read().strip()
    except OSError: return ""
print([name(pid) for pid in os.listdir("/proc") if pid.isdigit()].count("sleep"))
)py";

bool is_started(const wire::Event& event) {
  return std::holds_alternative<wire::Started>(event.body);
}

bool kernel_scopes_signals() {
  constexpr int first_version = 6;
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >=
         first_version;
}

}  // namespace

TEST_CASE("a command prints, ends and is measured like a script, and says its pid first") {
  Sandbox sandbox;
  Sandbox::Events events;
  const auto result = sandbox.run(shell_line("echo out; echo err >&2; exit 3"), events);
  CHECK(result.verdict == Verdict::error);
  CHECK(result.exit_code == 3);
  CHECK(result.started);
  CHECK(result.sandbox_usable);
  CHECK(result.stdout_text == "out\n");
  CHECK(result.stderr_text == "err\n");
  CHECK(result.usage.cpu_seconds > 0);
  CHECK(result.usage.peak_memory_bytes > 0);
  CHECK(result.usage.output_bytes > 0);
  REQUIRE_FALSE(events.empty());
  REQUIRE(is_started(events.front()));
  CHECK(std::get<wire::Started>(events.front().body).pid > 1);
  CHECK(sandbox.run(program({"true"})).verdict == Verdict::ok);
  check_clean_turn(sandbox);
}

TEST_CASE("a program gets its arguments as they are, its directory and its env") {
  Sandbox sandbox;
  wire::ExecRequest request =
      program({"/bin/sh", "-c", "echo \"$1|$KEY|$HOME\"; pwd", "sh", "a  $b"});
  request.env = {{"KEY", "s3cret"}};
  request.secrets = {"KEY"};
  request.directory = "/tmp";
  CHECK(sandbox.run(request).stdout_text == "a  $b|s3cret|/workspace\n/tmp\n");
  // No variable of one is there in the next.
  CHECK(sandbox.run(shell_line("echo [$KEY]; pwd")).stdout_text == "[]\n/workspace\n");
}

TEST_CASE("what cannot be run is an error that says why, and nothing was started") {
  Sandbox sandbox;
  const auto missing = sandbox.run(program({"no-such-program"}));
  CHECK(missing.verdict == Verdict::error);
  CHECK_FALSE(missing.started);
  CHECK(missing.exit_code == 127);
  REQUIRE(missing.error);
  CHECK(missing.error->name == "CommandNotFound");

  const auto not_executable = sandbox.run(program({"/etc/passwd"}));
  CHECK_FALSE(not_executable.started);
  CHECK(not_executable.exit_code == 126);
  REQUIRE(not_executable.error);
  CHECK(not_executable.error->name == "CommandNotExecutable");

  wire::ExecRequest elsewhere = program({"true"});
  elsewhere.directory = "nowhere";
  const auto no_directory = sandbox.run(elsewhere);
  CHECK_FALSE(no_directory.started);
  REQUIRE(no_directory.error);
  CHECK(no_directory.error->name == "InvalidDirectory");

  wire::ExecRequest without_secret = program({"true"});
  without_secret.secrets = {"KEY"};
  CHECK(sandbox.run(without_secret).verdict == Verdict::missing_secret);
  CHECK(sandbox.run(in_language("cobol", "DISPLAY 1")).started == false);
  check_clean_turn(sandbox);
}

TEST_CASE("each ending of a command has its verdict") {
  Sandbox sandbox;
  CHECK(sandbox.run(shell_line("exit 0")).verdict == Verdict::ok);
  const auto crashed = sandbox.run(shell_line("kill -SEGV $$"));
  CHECK(crashed.verdict == Verdict::crashed);
  CHECK(crashed.signal == SIGSEGV);
}

TEST_CASE("a command is told of its deadline, and killed when it stays") {
  Sandbox sandbox;
  const auto told = sandbox.run(shell_line("trap 'echo told; exit' TERM; sleep 60 & wait", 0.3));
  CHECK(told.verdict == Verdict::timeout);
  CHECK(told.stdout_text == "told\n");
  const auto deaf = sandbox.run(shell_line("trap '' TERM INT; while :; do sleep 60; done", 0.3));
  CHECK(deaf.verdict == Verdict::timeout);
  CHECK(deaf.signal == SIGKILL);
  CHECK(sandbox.run(count_sleepers).stdout_text == "0\n");
}

TEST_CASE("a command can be cancelled") {
  Sandbox sandbox;
  const auto result = sandbox.run_and_cancel(shell_line("sleep 60"), is_started);
  CHECK(result.verdict == Verdict::cancelled);
  CHECK(result.sandbox_usable);
  check_clean_turn(sandbox);
}

TEST_CASE("a command that says more than it may is ended, and what it said before is there") {
  Sandbox sandbox;
  wire::ExecRequest request = shell_line("echo first; yes");
  request.max_output_bytes = 100'000;
  const auto result = sandbox.run(request);
  CHECK(result.verdict == Verdict::output_limit);
  CHECK(result.stdout_text.starts_with("first\ny\n"));
  CHECK(result.usage.output_bytes <= 100'000);
  check_clean_turn(sandbox);
}

TEST_CASE("the processes that a command leaves end with it, in sessions of their own, too") {
  Sandbox sandbox;
  const auto result =
      sandbox.run(shell_line("sleep 600 & setsid sleep 600 & (setsid sleep 600 &) ; echo done"));
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "done\n");
  CHECK(sandbox.run(count_sleepers).stdout_text == "0\n");
}

TEST_CASE("output that is not UTF-8 or ends inside a character arrives as far as it can") {
  Sandbox sandbox;
  CHECK(sandbox.run(shell_line("printf 'a\\377b\\303'; sleep 0.1; printf '\\251'")).stdout_text ==
        "a\uFFFDb\u00e9");
}

TEST_CASE("scripts in bash and javascript run as commands, with their arguments") {
  Sandbox sandbox;
  const auto shell = sandbox.run(in_language(
      "bash", "set -e\nfor word in \"$@\"; do echo \"<$word>\"; done\nexit 4", {"a", "b  c"}));
  CHECK(shell.stdout_text == "<a>\n<b  c>\n");
  CHECK(shell.exit_code == 4);
  // Larger than an argument of a program may be.
  const std::string large = "x='" + std::string(300'000, 'x') + "'\necho ${#x}\n";
  CHECK(sandbox.run(in_language("bash", large)).stdout_text == "300000\n");
}

TEST_CASE("javascript runs as if its file were in the working directory") {
  Sandbox sandbox;
  sandbox.run(shell_line("echo 'module.exports = 42' > answer.js"));
  const auto result = sandbox.run(in_language("javascript",
                                              "console.log(require('./answer'), __filename, "
                                              "require.main === module, process.argv.slice(2))\n"
                                              "throw new Error('no')",
                                              {"-x", "y"}));
  CHECK(result.stdout_text == "42 /workspace/script.js true [ '-x', 'y' ]\n");
  CHECK(result.stderr_text.find("/workspace/script.js:2") != std::string::npos);
  CHECK(result.verdict == Verdict::error);
}

TEST_CASE("a command on a terminal sees its size, and stderr is part of what it prints") {
  Sandbox sandbox;
  wire::ExecRequest request = shell_line("stty size; tty; test -t 2 && echo all >&2");
  request.terminal = wire::TerminalSize{100, 30};
  const auto result = sandbox.run(request);
  CHECK(result.stdout_text == "30 100\r\n/dev/pts/0\r\nall\r\n");
  CHECK(result.stderr_text.empty());
}

TEST_CASE("a command has its standard streams only") {
  Sandbox sandbox;
  const auto result = sandbox.run(shell_line("echo $(ls /proc/self/fd); readlink /proc/self/fd/0"));
  // The one more is the directory that ls reads.
  CHECK(result.stdout_text == "0 1 2 3\n/dev/null\n");
}

TEST_CASE("where the kernel scopes signals a command cannot end what is not its own") {
  if (!kernel_scopes_signals()) return;
  Sandbox sandbox;
  const auto result = sandbox.run(shell_line(
      "sleep 600 & for process in /proc/[0-9]*; do pid=${process#/proc/}; [ $pid = $$ ] || "
      "[ $pid = $! ] || { kill -STOP $pid && echo $pid; }; done 2>/dev/null; kill -KILL -1; wait; "
      "echo end"));
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "end\n");
  check_clean_turn(sandbox);
}
