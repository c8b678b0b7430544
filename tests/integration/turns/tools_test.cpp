// Tools: what a script finds in its globals, and what it cannot do to them.
#include "backend/await_ready.h"
#include "tests/support/clean_turn.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

backend::SpawnError failure_to_start(SandboxOptions options) {
  try {
    const Sandbox sandbox(std::move(options));
  } catch (const backend::SpawnError& error) {
    return error;
  }
  FAIL("the sandbox started");
  return backend::SpawnError("");
}

constexpr const char* thread_tools = R"py(
import asyncio, threading

async def where():
    return threading.get_ident()

async def both(n):
    await asyncio.sleep(0)
    return [await where(), n]

async def count_to(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
)py";

}  // namespace

TEST_CASE("H5: every .py of the tools directory is loaded in the order of the names") {
  Sandbox sandbox({.tools = {{"b.py", "LOADED.append('b')\ndef same(): return 'from b'\n"},
                             {"a.py", "LOADED = ['a']\ndef same(): return 'from a'\n"},
                             {"c.py", "def greet(name): return same() + ' to ' + name\n"},
                             {"d.txt", "LOADED.append('txt')\n"},
                             {"e.pyc", "garbage"},
                             {"README", "not Python at all"}}});
  const auto result = sandbox.run("emit_result([LOADED, greet('you')])");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.result == wire::JsonText{R"([["a","b"],"from b to you"])"});
}

TEST_CASE("H5: without tools scripts still have the helpers") {
  Sandbox sandbox;
  CHECK(sandbox.run("emit_result(callable(emit_log))").result == wire::JsonText{"true"});
}

TEST_CASE("H6: a tool with a syntax error keeps the sandbox from starting and names the line") {
  const backend::SpawnError error =
      failure_to_start({.tools = {{"fine.py", "x = 1\n"}, {"broken.py", "x = 1\ndef oops(:\n"}}});
  CHECK(std::string(error.what()).find("broken.py") != std::string::npos);
  CHECK(error.traceback.find("broken.py\", line 2") != std::string::npos);
}

TEST_CASE("H6: a tool that raises while loading keeps the sandbox from starting") {
  const backend::SpawnError error = failure_to_start(
      {.tools = {{"angry.py", "def load():\n    raise RuntimeError('no database')\nload()\n"}}});
  CHECK(std::string(error.what()).find("angry.py") != std::string::npos);
  CHECK(std::string(error.what()).find("RuntimeError: no database") != std::string::npos);
  CHECK(error.traceback.find("angry.py\", line 2, in load") != std::string::npos);
}

TEST_CASE("H6: what the harness said last is heard, also by an init that sees its end first") {
  asio::io_context loop;
  SandboxProcess process(loop, {.tools = {{"late.py", R"py(
while open('/proc/1/stat').read().split()[2] != 'T':
    pass
raise RuntimeError('no database')
)py"}}});
  pid_t harness = 0;
  while ((harness = process.harness_pid()) == 0) ::usleep(1000);
  process.signal_init(SIGSTOP);
  const auto has_ended = [&] {
    std::string pid, name, state;
    std::ifstream("/proc/" + std::to_string(harness) + "/stat") >> pid >> name >> state;
    return state == "Z";
  };
  while (!has_ended()) ::usleep(1000);
  process.signal_init(SIGCONT);
  CHECK_THROWS_WITH_AS(
      run_task(loop, backend::await_ready(process.channel(), std::chrono::seconds(30))),
      doctest::Contains("RuntimeError: no database"), backend::SpawnError);
}

TEST_CASE("H6: a tool that exits or kills its loader keeps the sandbox from starting") {
  CHECK(std::string(failure_to_start({.tools = {{"quits.py", "import sys\nsys.exit(0)\n"}}}).what())
            .find("quits.py") != std::string::npos);
  CHECK(std::string(
            failure_to_start({.tools = {{"kills.py", "import os\nos.kill(os.getpid(), 9)\n"}}})
                .what())
            .find("exited before it was ready") != std::string::npos);
}

TEST_CASE("H7: async tools are called without await and share one event loop") {
  Sandbox sandbox({.tools = {{"async_tools.py", thread_tools}}});
  const auto result = sandbox.run(R"py(
first, second = where(), where()
nested, n = both(7)
print(first == second == nested, n, list(count_to(3)))
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "True 7 [0, 1, 2]\n");
}

TEST_CASE("H7: what an async tool raises arrives in the script with the tool's line") {
  Sandbox sandbox(
      {.tools = {{"fails.py", "async def fail():\n    raise LookupError('not there')\n"}}});
  const auto result = sandbox.run("fail()");
  CHECK(result.verdict == Verdict::error);
  REQUIRE(result.error);
  CHECK(result.error->name == "LookupError");
  CHECK(result.error->traceback.find("fails.py\", line 2, in fail") != std::string::npos);
  CHECK(result.error->traceback.find("executor_harness") == std::string::npos);
}

TEST_CASE("H8: the tools' loop runs on a private thread that exists only when needed") {
  Sandbox sandbox({.tools = {{"async_tools.py", thread_tools}}});
  const auto result = sandbox.run(R"py(
import asyncio, threading
before = threading.active_count()
tool_thread = where()
print(before, tool_thread != threading.get_ident(), tool_thread != threading.main_thread().ident)
print(asyncio.run(asyncio.sleep(0, 'a loop of its own')))
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "1 True True\na loop of its own\n");
}

TEST_CASE("H25: one harness serves whatever tools directory is mounted") {
  for (const std::string skill : {"alpha", "beta"}) {
    Sandbox sandbox({.tools = {{"skill.py", "def skill(): return '" + skill + "'\n"}}});
    CHECK(sandbox.run("print(skill())").stdout_text == skill + "\n");
  }
}

TEST_CASE("H25: tools may also be baked in elsewhere") {
  Sandbox sandbox({.harness =
                       "mkdir /tmp/baked && echo 'def skill(): return 7' > /tmp/baked/s.py &&"
                       " exec /usr/bin/python3 /hearth/executor_harness"
                       " --tools /tmp/baked"});
  CHECK(sandbox.run("print(skill())").stdout_text == "7\n");
}

TEST_CASE("H27: a tool's result has success, message and data") {
  Sandbox sandbox({.tools = {{"orders.py", R"py(
async def find_order(number):
    if number == 7:
        return ToolResult(success=True, data={'id': 7, 'total': 12.5}, message='found')
    return ToolResult(success=False, message='no order %d' % number)
)py"}}});
  const auto result = sandbox.run(R"py(
order = find_order(7)
if order.success:
    emit_intermediate(order.message, order.data)
missing = find_order(8)
print(missing.success, missing.message, missing.data)
emit_result(order)
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "False no order 8 None\n");
  REQUIRE(result.intermediates.size() == 1);
  CHECK(result.intermediates[0] ==
        wire::Intermediate{"found", wire::JsonText{R"({"id":7,"total":12.5})"}});
  CHECK(result.result ==
        wire::JsonText{R"({"success":true,"data":{"id":7,"total":12.5},"message":"found"})"});
}

TEST_CASE("H33: an async tool that is pending at the time-out does not touch the next run") {
  Sandbox sandbox({.tools = {{"slow.py", R"py(
import asyncio, threading

async def slow():
    threading.Thread(target=print, args=('a thread of the tool',)).start()
    try:
        await asyncio.sleep(1000)
    finally:
        emit_log('the pending tool ended')
)py"}}});
  const auto late = sandbox.run("slow()", 0.3);
  CHECK(late.verdict == Verdict::timeout);
  REQUIRE(late.error);
  CHECK(late.error->message ==
        "Script timed out after 0.3s (resource_limits.execution_timeout_sec, or the timeout of the "
        "run)");
  for (int turn = 0; turn < 3; ++turn) check_clean_turn(sandbox);
  const auto again = sandbox.run(
      "import threading, time\ntime.sleep(0.4)\n"
      "print(threading.active_count())");
  CHECK(again.verdict == Verdict::ok);
  CHECK(again.stdout_text == "1\n");
}

TEST_CASE("H34: a script cannot overwrite helpers and tools for the next run") {
  Sandbox sandbox({.tools = {{"tool.py", "LIMITS = {'n': 1}\ndef tool(): return LIMITS['n']\n"}}});
  const auto vandal = sandbox.run(R"py(
import builtins, json, sys
tool.__globals__['LIMITS']['n'] = 666
tool.__code__ = (lambda: 667).__code__
emit_log.__globals__.clear()
emit_result = emit_log = emit_intermediate = tool = ToolResult = None
builtins.print = builtins.open = None
json.dumps = sys.stdout = None
sys.modules.clear()
)py");
  CHECK(vandal.sandbox_usable);
  const auto next = sandbox.run("print(tool(), LIMITS)\nemit_log('l')\nemit_result(tool())");
  CHECK(next.verdict == Verdict::ok);
  CHECK(next.stdout_text == "1 {'n': 1}\n");
  CHECK(next.logs.size() == 1);
  CHECK(next.result == wire::JsonText{"1"});
}

TEST_CASE("H34: within a lease the next step has its helpers and tools back") {
  Sandbox sandbox({.tools = {{"tool.py", "def tool(): return 1\n"}}});
  CHECK(sandbox.step("emit_result = emit_log = tool = None").verdict == Verdict::ok);
  const auto next = sandbox.step("emit_log('l')\nemit_result(tool())");
  CHECK(next.verdict == Verdict::ok);
  CHECK(next.result == wire::JsonText{"1"});
}

TEST_CASE("what tools write while they load is gone before the first script") {
  Sandbox sandbox({.tools = {{"writer.py", R"py(
import os, tempfile
for place in (tempfile.gettempdir(), os.environ["HOME"]):
    os.makedirs(os.path.join(place, "deep/er"))
    open(os.path.join(place, "deep/left"), "w").write("left")
)py"}}});
  CHECK(sandbox.run("import os; print(os.listdir('/tmp'), os.listdir('/workspace'))").stdout_text ==
        "[] []\n");
}
