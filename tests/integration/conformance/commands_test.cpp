// Commands in a sandbox, on every backend: their verdicts, their rights, and what is left of them.
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

wire::ExecRequest shell_line(std::string line, double timeout_seconds = 20) {
  wire::ExecRequest request;
  request.shell = std::move(line);
  request.timeout_seconds = timeout_seconds;
  return request;
}

wire::ExecRequest program(std::vector<std::string> argv) {
  wire::ExecRequest request;
  request.argv = std::move(argv);
  request.timeout_seconds = 20;
  return request;
}

}  // namespace

TYPE_TO_STRING(hearth::test::NativeBackend);
TYPE_TO_STRING(hearth::test::DockerBackend);
TEST_CASE_TEMPLATE("each ending of a command has its verdict", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const auto run = [&](wire::ExecRequest request) { return backend.run_in(*sandbox, request); };
  CHECK(run(program({"true"})).verdict == Verdict::ok);
  const auto failed = run(shell_line("echo out; echo err >&2; exit 3"));
  CHECK(failed.verdict == Verdict::error);
  CHECK(failed.exit_code == 3);
  CHECK(failed.stdout_text == "out\n");
  CHECK(failed.stderr_text == "err\n");
  const auto missing = run(program({"no-such-program"}));
  CHECK(missing.verdict == Verdict::error);
  CHECK(missing.exit_code == 127);
  CHECK_FALSE(missing.started);
  CHECK(run(shell_line("kill -SEGV $$")).signal == SIGSEGV);
  CHECK(run(shell_line("sleep 60", 0.3)).verdict == Verdict::timeout);
  CHECK(run(shell_line("yes")).verdict == Verdict::output_limit);
  wire::ExecRequest secretive = program({"true"});
  secretive.secrets = {"KEY"};
  CHECK(run(secretive).verdict == Verdict::missing_secret);
  // After all that it is as good as new.
  CHECK(backend.run_in(*sandbox, "print('still here')").verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("a command has a worker's rights, limits and surroundings", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const std::string facts = R"py(
import os, resource
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print([status[key].strip() for key in ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters")])
print([resource.getrlimit(number) for number in range(16)])
print(open("/proc/self/oom_score_adj").read(), os.getcwd(), oct(os.umask(0o22)))
print({key: os.environ[key] for key in ("PATH", "HOME", "USER", "LANG", "TMPDIR")})
print([os.access(path, os.W_OK) for path in ("/", "/usr", "/etc", "/proc/sys/kernel", "/tmp", "/workspace")])
try: print(os.listdir("/proc/1/fd"))
except OSError as error: print(error.strerror)
)py";
  const std::string script = backend.run_in(*sandbox, facts).stdout_text;
  const auto command = backend.run_in(*sandbox, program({"python3", "-c", facts}));
  INFO(command.stderr_text);
  CHECK(command.stdout_text == script);
  CHECK(script.find("Permission denied") != std::string::npos);
}

TEST_CASE_TEMPLATE("what a command starts ends with it, a fork bomb as well", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  // All but the harness's: whether it has prepared a worker by now is a matter of time.
  const std::string count = R"py(
import os
def is_harness(pid):
    try:
        return b"executor_harness" in open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError:
        return False
print(len([p for p in os.listdir("/proc") if p.isdigit() and not is_harness(p)]))
)py";
  const std::string before = backend.run_in(*sandbox, count).stdout_text;
  const auto daemons =
      backend.run_in(*sandbox, shell_line("sleep 600 & setsid sleep 600 & echo started"));
  CHECK(daemons.stdout_text == "started\n");
  CHECK(backend.run_in(*sandbox, count).stdout_text == before);
  const auto bomb = backend.run_in(*sandbox, program({"python3", "-c", R"py(
import os
def burst():
    while True:
        try:
            if os.fork() == 0: os.setsid()
        except OSError: pass
if os.fork() == 0: burst()
print("lit")
)py"}));
  INFO(bomb.detail, bomb.stderr_text);
  CHECK(bomb.verdict == Verdict::ok);
  CHECK(bomb.stdout_text == "lit\n");
  CHECK(backend.run_in(*sandbox, count).stdout_text == before);
}

TEST_CASE_TEMPLATE("a command that takes too much memory is ended for that", Backend,
                   ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.resource_limits.memory_mb = 64;
  Backend backend(config);
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  CHECK(backend.run_in(*sandbox, program({"python3", "-c", "bytearray(1 << 30)"})).verdict ==
        Verdict::memory_limit);
}

TEST_CASE_TEMPLATE("a script that names no language is in that of its blueprint", Backend,
                   ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.language = "bash";
  Backend backend(config);
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const pool::Binding lease = pool::bind(config, {}, {});
  const auto run = [&](execution::TurnRequest request) {
    return backend.run_in(*sandbox, execution::wire_request(lease, std::move(request)));
  };
  CHECK(run({.script = "echo $BASH_VERSION | cut -c1; exit 3"}).stdout_text == "5\n");
  CHECK(run({.script = "exit 3"}).exit_code == 3);
  CHECK(run({.script = "print(6 * 7)", .language = "python"}).stdout_text == "42\n");
}

TEST_CASE_TEMPLATE("a command may have a terminal of its own", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  wire::ExecRequest request = shell_line("stty size; tty; test -t 2 && echo all");
  request.terminal = wire::TerminalSize{100, 30};
  CHECK(backend.run_in(*sandbox, request).stdout_text == "30 100\r\n/dev/pts/0\r\nall\r\n");
}

TEST_CASE("a native sandbox has a bounded number of terminals, which no other can use up") {
  NativeBackend backend;
  const std::unique_ptr<backend::Sandbox> greedy = backend.spawn();
  const std::unique_ptr<backend::Sandbox> other = backend.spawn();
  CHECK(backend
            .run_in(*greedy, R"py(
import os, sys
count = 0
try:
    while count < 100: os.openpty(); count += 1
except OSError: print(count, flush=True)
)py")
            .stdout_text == "32\n");
  wire::ExecRequest request = shell_line("tty");
  request.terminal = wire::TerminalSize{};
  CHECK(backend.run_in(*other, request).stdout_text == "/dev/pts/0\r\n");
}

TEST_CASE_TEMPLATE("scripts in bash run on every backend", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  wire::ExecRequest request = program({"a", "b c"});
  request.language = "bash";
  request.script = "echo $# \"$2\"\nexit 5\n";
  const auto result = backend.run_in(*sandbox, request);
  CHECK(result.stdout_text == "2 b c\n");
  CHECK(result.exit_code == 5);
}
