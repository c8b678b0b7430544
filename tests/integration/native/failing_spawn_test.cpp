// Spawns that cannot succeed: each says why, and nothing of it is left.
#include "tests/support/failure_kind.h"
#include "tests/support/held_process.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/co_spawn.hpp>

#include <signal.h>

#include <exception>

using namespace hearth;
using namespace hearth::test;

namespace {

struct Failure {
  std::string message;
  std::string traceback;
};

Failure failure_of_spawn(NativeSandboxes& sandboxes) {
  try {
    sandboxes.spawn();
  } catch (const backend::SpawnError& error) {
    return {error.what(), error.traceback};
  } catch (const std::exception& error) {
    FAIL("not a SpawnError: " << error.what());
  }
  FAIL("it did not fail");
  return {};
}

native::ZygoteContent with_tool(const TemporaryDirectory& tools) {
  native::ZygoteContent environment = plain_environment();
  environment.tools = tools.path();
  return environment;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a tool that raises while loading fails the spawn with its traceback") {
  const TemporaryDirectory tools;
  tools.write("broken.py", "def inner():\n    raise ValueError('not today')\ninner()\n");
  NativeSandboxes sandboxes({}, with_tool(tools));
  const Failure failure = failure_of_spawn(sandboxes);
  CHECK(failure.message == "tool broken.py: ValueError: not today");
  CHECK(contains(failure.traceback, "broken.py\", line 2, in inner"));
}

TEST_CASE("a tool that ends the process while loading fails the spawn") {
  const TemporaryDirectory tools;
  tools.write("broken.py", "import os, sys\nsys.stderr.write('leaving\\n')\nos._exit(3)\n");
  NativeSandboxes sandboxes({}, with_tool(tools));
  CHECK(contains(failure_of_spawn(sandboxes).message, "leaving"));
}

// Finds the socket on which the host asks the zygote for sandboxes.
constexpr const char* finding_control = R"py(
import os, socket, struct
for number in range(3, 64):
    try:
        control = socket.socket(fileno=os.dup(number))
    except OSError:
        continue
    if control.family == socket.AF_UNIX and control.type == socket.SOCK_SEQPACKET:
        break
control.setblocking(True)
)py";

TEST_CASE("a tool that answers for the zygote cannot have a process killed that is no sandbox's") {
  const TemporaryDirectory tools;
  SUBCASE("because it is the host's own") {
    tools.write("evil.py", std::string(finding_control) + R"py(
control.getsockopt(socket.SOL_SOCKET, 77, 4)  # SO_PEERPIDFD
)py");
    NativeSandboxes sandboxes({}, with_tool(tools));
    CHECK(contains(failure_of_spawn(sandboxes).message, "Function not implemented"));
  }
  SUBCASE("because it is none") {
    tools.write("evil.py", std::string(finding_control) + R"py(
control.send(b'{"type":"ready"}')
request = control.recv(512)
file = os.open("/dev/null", os.O_RDONLY)
socket.send_fds(control, [struct.pack("Qq", struct.unpack_from("Q", request)[0], 0)], [file])
control.recv(512)
)py");
    NativeSandboxes sandboxes({}, with_tool(tools));
    CHECK(failure_of_spawn(sandboxes).message ==
          "the zygote answered with a process that is no sandbox's");
  }
}

TEST_CASE("a tool that reports without end while it loads is given up") {
  const TemporaryDirectory tools;
  tools.write("flood.py", std::string(finding_control) + R"py(
report = b'{"type":"loading","what":"x","y":[' + b",".join([b"{}"] * 1000) + b"]}"
while True:
    control.send(report)
)py");
  NativeSandboxes sandboxes({}, with_tool(tools));
  CHECK(failure_of_spawn(sandboxes).message == "the zygote reported more than there is to load");
}

TEST_CASE("a tool that prints more than a pipe holds while loading does not stop the spawn") {
  const TemporaryDirectory tools;
  tools.write("chatty.py", "print('x' * 1_000_000)\ndef tool(): return 5\n");
  NativeSandboxes sandboxes({}, with_tool(tools));
  CHECK(printed(sandboxes, "print(tool())") == "5\n");
}

TEST_CASE("a module to be preloaded that does not exist fails the spawn") {
  native::ZygoteContent environment = plain_environment();
  environment.preload = {"json", "no_such_module_anywhere"};
  NativeSandboxes sandboxes({}, environment);
  const Failure failure = failure_of_spawn(sandboxes);
  CHECK(failure.message ==
        "preload no_such_module_anywhere: ModuleNotFoundError: No module named "
        "'no_such_module_anywhere'");
  CHECK(contains(failure.traceback, "ModuleNotFoundError"));
}

TEST_CASE("a directory to be shown that does not exist fails the spawn, and its name is said") {
  native::ZygoteContent environment = plain_environment();
  environment.mounts = {{.source = "/no/such/directory", .target = "/data"}};
  NativeSandboxes sandboxes({}, environment);
  CHECK(contains(failure_of_spawn(sandboxes).message, "open /no/such/directory: No such file"));
}

TEST_CASE("an interpreter that does not exist fails the spawn") {
  native::ZygoteContent environment = plain_environment();
  environment.python = "/usr/bin/python-of-tomorrow";
  NativeSandboxes sandboxes({}, environment);
  CHECK(contains(failure_of_spawn(sandboxes).message, "execute /usr/bin/python-of-tomorrow"));
}

TEST_CASE("a step of isolation that fails is named") {
  blueprint::SandboxConfig config;
  config.resource_limits.pids_limit = -2;  // one process, where a sandbox needs two
  NativeSandboxes sandboxes(config);
  const std::string step = "create the sandbox's user namespace";
  CHECK(contains(failure_of_spawn(sandboxes).message, step));
  // The zygote has lost nothing by it.
  CHECK(contains(failure_of_spawn(sandboxes).message, step));
}

TEST_CASE("a sandbox whose memory does not suffice for its start fails the spawn") {
  const TemporaryDirectory tools;
  tools.write("large.py",
              "import os\n"
              "kept = []\n"
              "os.register_at_fork(after_in_child=lambda: kept.append(bytearray(16 << 20)))\n");
  native::ZygoteContent environment = plain_environment();
  environment.tools = tools.path();
  blueprint::SandboxConfig config;
  config.resource_limits.memory_mb = 8;
  NativeSandboxes sandboxes(config, environment);
  CHECK(failure_of_spawn(sandboxes).message ==
        "the sandbox's memory does not suffice for its start");
}

TEST_CASE("P11: a spawn fails only when the processes of its sandbox have ended") {
  const TemporaryDirectory tools;
  tools.write("late.py",
              "import os, time\n"
              "def wait():\n"
              "    while os.path.exists(os.path.dirname(__file__) + '/wait'): time.sleep(0.01)\n"
              "os.register_at_fork(after_in_child=wait)\n");
  native::NativeMachineOptions options;
  options.ready_limit = std::chrono::milliseconds(1500);
  asio::io_context loop(1);
  native::NativeSource source(loop.get_executor(), native::open_native_machine(options), {},
                              with_tool(tools));
  std::unique_ptr<backend::Sandbox> first = run_task(loop, source.spawn());
  const std::string zygotes = pid_namespace_of(zygote_of(*first));
  tools.write("wait", "");
  std::exception_ptr failure;
  asio::co_spawn(loop, source.spawn(),
                 [&](const std::exception_ptr& thrown, const std::unique_ptr<backend::Sandbox>&) {
                   failure = thrown;
                 });
  const auto run_until = [&](const auto& holds) {
    while (!holds()) loop.run_one_for(std::chrono::milliseconds(10));
  };
  pid_t second = 0;
  run_until([&] {
    for (const auto& [own, init] : live_sandboxes_below(zygotes))
      if (init != init_of(*first) && status_line(init, "Name") == "\tinit") second = init;
    return second != 0;
  });
  HeldProcess init(second);
  run_until([&] { return init.was_killed(); });
  loop.poll();
  CHECK_FALSE(failure);
  init.let_go();
  run_until([&] { return failure != nullptr; });
  CHECK(is_failure<backend::ReadyTimeout>(failure));
  first.reset();
  run_task(loop, source.close());
}

TEST_CASE("with a killed zygote its sandboxes end, and the next spawn has a new one") {
  NativeSandboxes sandboxes;
  const auto one = sandboxes.spawn();
  const auto other = sandboxes.spawn();
  const pid_t zygote = zygote_of(*one);
  REQUIRE(zygote > 1);
  CHECK(zygote_of(*other) == zygote);
  REQUIRE(::kill(zygote, SIGKILL) == 0);
  run_task(sandboxes.loop(), one->exited());
  run_task(sandboxes.loop(), other->exited());
  CHECK(sandboxes.run_in(*one, "print(1)").verdict == execution::Verdict::lost);
  const auto next = sandboxes.spawn();
  CHECK(zygote_of(*next) != zygote);
  CHECK(printed(sandboxes, *next, "print('on')") == "on\n");
}

TEST_CASE("a zygote that died with its launcher still there is seen to be gone") {
  NativeSandboxes sandboxes;
  const auto one = sandboxes.spawn();
  const pid_t zygote = zygote_of(*one);
  const pid_t launcher = parent_of(zygote);
  REQUIRE(launcher > 1);
  // Stopped, it does not notice; the socket to the zygote is closed all the same.
  REQUIRE(::kill(launcher, SIGSTOP) == 0);
  REQUIRE(::kill(zygote, SIGKILL) == 0);
  run_task(sandboxes.loop(), one->exited());
  const auto next = sandboxes.spawn();
  CHECK(printed(sandboxes, *next, "print('on')") == "on\n");
}

TEST_CASE("P32: a zygote that does not answer is ended, and the next makes the sandbox") {
  native::NativeMachineOptions options;
  options.ready_limit = std::chrono::milliseconds(1500);
  asio::io_context loop(1);
  native::NativeSource source(loop.get_executor(), native::open_native_machine(options), {},
                              plain_environment());
  std::unique_ptr<backend::Sandbox> first = run_task(loop, source.spawn());
  const pid_t hung = zygote_of(*first);
  REQUIRE(::kill(hung, SIGSTOP) == 0);
  const std::unique_ptr<backend::Sandbox> second = run_task(loop, source.spawn());
  CHECK(zygote_of(*second) != hung);
  run_task(loop, first->exited());  // its zygote's end was its own
  first.reset();
  run_task(loop, source.close());
}
