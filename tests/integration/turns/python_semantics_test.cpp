// What people expect of running Python.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

std::string display_of(Sandbox& sandbox, const std::string& script) {
  const auto result = sandbox.run(script);
  CHECK(result.verdict == Verdict::ok);
  return result.displays.size() == 1 ? result.displays[0].data.text : "";
}

}  // namespace

TEST_CASE("a script sees the surroundings of a script that was run by hand") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, sys
print(__name__, __file__, sys.argv, os.getcwd(), sys.path[0])
print(sys.modules['__main__'].__dict__ is globals(), __builtins__ is not None)
print(sys.stdin.read() == '', sys.stdout.isatty(), sys.flags.interactive)
print(os.environ['HOME'], 'HEARTH_CONTROL_FD' in os.environ, os.path.exists('/workspace/script.py'))
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text ==
        "__main__ /workspace/script.py ['/workspace/script.py'] /workspace /workspace\n"
        "True True\nTrue False 0\n/workspace False False\n");
}

TEST_CASE("modules written to the workspace can be imported, in the same run and in the next") {
  Sandbox sandbox;
  const std::string use = "import helper\nprint(helper.double(21))";
  CHECK(sandbox.run("open('helper.py', 'w').write('def double(n): return 2 * n\\n')\n" + use)
            .stdout_text == "42\n");
  CHECK(sandbox.run(use).stdout_text == "42\n");
  CHECK(sandbox.step("open('late.py', 'w').write('n = 1\\n')").verdict == Verdict::ok);
  CHECK(sandbox.step("import late\nprint(late.n)").stdout_text == "1\n");
}

TEST_CASE("input() fails at once with a clear message") {
  Sandbox sandbox;
  const auto result = sandbox.run("name = input('Your name? ')");
  CHECK(result.verdict == Verdict::error);
  REQUIRE(result.error);
  CHECK(result.error->name == "EOFError");
  CHECK(result.error->message.find("input() is not available") != std::string::npos);
}

TEST_CASE("the value of a trailing expression is displayed") {
  Sandbox sandbox;
  CHECK(display_of(sandbox, "1 + 1") == R"({"text/plain":"2"})");
  CHECK(display_of(sandbox, "x = [1]\nx") == R"({"text/plain":"[1]"})");
  CHECK(display_of(sandbox, "[1,\n 2]") == R"({"text/plain":"[1, 2]"})");
  CHECK(display_of(sandbox, "x = 1").empty());
  CHECK(display_of(sandbox, "None").empty());
  CHECK(display_of(sandbox, "1 + 1;").empty());
  CHECK(display_of(sandbox, "if True:\n    7").empty());
  CHECK(display_of(sandbox, "").empty());
}

TEST_CASE("a displayed object may offer HTML, PNG and JSON") {
  Sandbox sandbox;
  CHECK(
      display_of(sandbox, R"py(
class Rich:
    def __repr__(self): return 'plain'
    def _repr_html_(self): return '<b>rich</b>'
    def _repr_png_(self): return b'png'
    def _repr_json_(self): return {'rich': True}
Rich()
)py") ==
      R"({"text/plain":"plain","text/html":"<b>rich</b>","image/png":"cG5n","application/json":{"rich":true}})");
}

TEST_CASE("warnings and uncaught errors of threads arrive on stderr") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import threading, warnings
warnings.warn('careful')
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stderr_text.find("UserWarning: careful") != std::string::npos);
  CHECK(result.stderr_text.find("ZeroDivisionError") != std::string::npos);
}

TEST_CASE("exit handlers and non-daemon threads finish before the run does") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import atexit, threading, time
atexit.register(print, 'exit handler')
def work():
    time.sleep(0.05)
    print('thread')
threading.Thread(target=work).start()
print('script')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "script\nthread\nexit handler\n");
}

TEST_CASE("text arrives whole whatever its bytes are and wherever it is cut") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, sys
for byte in '\u00e9\U0001F525'.encode(): os.write(1, bytes([byte]))
print(end='', flush=True)
os.write(1, b'\xff|')
sys.stdout.write('\ud800')
sys.stdout.flush()
print('|' + '\U0001F525' * 50_000)
)py");
  CHECK(result.verdict == Verdict::ok);
  const std::string fire = "\xF0\x9F\x94\xA5";
  std::string fires;
  for (int n = 0; n < 50'000; ++n) fires += fire;
  CHECK(result.stdout_text == "\xC3\xA9" + fire + "\xEF\xBF\xBD|\\ud800|" + fires + "\n");
}

TEST_CASE("subprocesses, multiprocessing and asyncio work as by hand") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import asyncio, multiprocessing, subprocess
print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())
with multiprocessing.get_context('fork').Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
async def main():
    process = await asyncio.create_subprocess_exec('echo', 'async', stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode().strip()
print(asyncio.run(main()))
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stderr_text.empty());
  CHECK(result.stdout_text == "child\n[1, 2]\nasync\n");
}

TEST_CASE("a child of the script can print but not emit, and its end is not the script's") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os
pid = os.fork()
if pid == 0:
    print('child')
    try:
        emit_result('of the child')
    except RuntimeError as error:
        print('refused')
    raise SystemExit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
emit_result('of the script')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "child\nrefused\n5\n");
  CHECK(result.result == wire::JsonText{"\"of the script\""});
}

TEST_CASE("the usage of a run is what the kernel measured") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os
data = bytearray(100_000_000)
while os.times().user + os.times().system < 0.2: pass
if os.fork() == 0:
    while os.times().user + os.times().system < 0.2: pass
    os._exit(0)
os.wait()
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.usage.peak_memory_bytes > 100'000'000);
  CHECK(result.usage.cpu_seconds > 0.3);
  CHECK(result.usage.wall_seconds > 0);
  CHECK(sandbox.run("pass").usage.peak_memory_bytes < 100'000'000);
}

TEST_CASE("await works outside of functions, in scripts and from step to step") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import asyncio
async def twice(x):
    await asyncio.sleep(0)
    return 2 * x
task = asyncio.create_task(twice(1))
print(await task)
await twice(21)
)py");
  CHECK(result.verdict == execution::Verdict::ok);
  CHECK(result.stdout_text == "2\n");
  REQUIRE(result.displays.size() == 1);
  CHECK(result.displays[0].data.text == R"({"text/plain":"42"})");
  CHECK(sandbox.step("import asyncio\nqueue = asyncio.Queue()\nawait queue.put(7)").verdict ==
        execution::Verdict::ok);
  CHECK(sandbox.step("print(await queue.get())").stdout_text == "7\n");
  const auto late = sandbox.step("await queue.get()", 0.5);
  CHECK(late.verdict == execution::Verdict::timeout);
  CHECK(late.error->traceback.find("<step 3>\", line 1") != std::string::npos);
  CHECK(sandbox.step("await queue.put(8)\nprint(await queue.get())").stdout_text == "8\n");
}

TEST_CASE("a script that waits is cancelled where it waits") {
  Sandbox sandbox;
  const auto result = sandbox.run_and_cancel(
      request_for("import asyncio\nprint('waits')\ntry:\n    await asyncio.sleep(99)\n"
                  "finally:\n    print('finally')"),
      [](const wire::Event& event) { return std::holds_alternative<wire::Stdout>(event.body); });
  CHECK(result.verdict == execution::Verdict::cancelled);
  CHECK(result.stdout_text == "waits\nfinally\n");
  CHECK(result.error->name == "KeyboardInterrupt");
  CHECK(result.error->traceback.find("line 4") != std::string::npos);
}

TEST_CASE("a traceback names the file that the request names") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("1 / 0");
  request.name = "report.py";
  CHECK(sandbox.run(std::move(request)).error->traceback.find("\"/workspace/report.py\", line 1") !=
        std::string::npos);
}
