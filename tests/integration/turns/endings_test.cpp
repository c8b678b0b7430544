// How a script's process can end, and that it is told apart.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace hearth;
using namespace hearth::test;
using execution::ExecutionResult;
using execution::Verdict;

namespace {

ExecutionResult run_and_check_next(const std::string& script, double timeout_seconds = 20) {
  Sandbox sandbox;
  ExecutionResult result = sandbox.run(script, timeout_seconds);
  CHECK(result.sandbox_usable);
  CHECK(result.started);
  check_clean_turn(sandbox);
  return result;
}

}  // namespace

TEST_CASE("H17: an exception is an error with its message and the script's own lines") {
  const auto result = run_and_check_next(R"py(
def inner():
    raise ValueError('seven is not even')
def outer():
    inner()
outer()
)py");
  CHECK(result.verdict == Verdict::error);
  REQUIRE(result.error);
  CHECK(result.error->name == "ValueError");
  CHECK(result.error->message == "seven is not even");
  CHECK(
      result.error->traceback.starts_with("Traceback (most recent call last):\n  File "
                                          "\"/workspace/script.py\", line 6, in <module>\n"));
  CHECK(result.error->traceback.find("line 3, in inner\n    raise ValueError") !=
        std::string::npos);
  CHECK(result.error->traceback.find("executor_harness") == std::string::npos);
  CHECK(result.exit_code == 1);
}

TEST_CASE("H17: chained, grouped and unprintable exceptions are errors too") {
  Sandbox sandbox;
  const auto chained =
      sandbox.run("try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e");
  CHECK(chained.error->traceback.find("ZeroDivisionError") <
        chained.error->traceback.find("KeyError"));
  const auto unprintable = sandbox.run(R"py(
class Odd(Exception):
    def __str__(self): raise RuntimeError('no')
    __repr__ = __str__
raise Odd()
)py");
  CHECK(unprintable.verdict == Verdict::error);
  CHECK(unprintable.error->name == "Odd");
  const auto base = sandbox.run("class Own(BaseException): pass\nraise Own('base')");
  CHECK(base.verdict == Verdict::error);
  CHECK(base.error->name == "Own");
  check_clean_turn(sandbox);
}

TEST_CASE("H17: a script that does not compile is an error that shows the place") {
  const auto result = run_and_check_next("x = 1\nif x\n    print(x)\n");
  CHECK(result.verdict == Verdict::error);
  CHECK(result.error->name == "SyntaxError");
  CHECK(result.error->traceback.find("line 2") != std::string::npos);
}

TEST_CASE("H18: sys.exit() and sys.exit(0) are ok, and the sandbox goes on") {
  Sandbox sandbox;
  for (const char* script :
       {"import sys\nsys.exit()", "import sys\nsys.exit(0)", "exit()", "quit(0)",
        "raise SystemExit", "import sys\nsys.exit(False)",
        "def f():\n    try:\n        exit()\n    finally:\n        print(1)\nf()"}) {
    CAPTURE(script);
    const auto result = sandbox.run(script);
    CHECK(result.verdict == Verdict::ok);
    CHECK(result.exit_code == 0);
    CHECK(result.called_exit);
    CHECK_FALSE(result.error);
    CHECK(result.stderr_text.empty());
    check_clean_turn(sandbox);
  }
}

TEST_CASE("H18: any other sys.exit is an error with that exit code and no traceback") {
  struct Case {
    const char* script;
    int exit_code;
    const char* message;
    const char* stderr_text;
  };
  Sandbox sandbox;
  for (const Case& one : {Case{"import sys\nsys.exit(3)", 3, "sys.exit(3) called", ""},
                          Case{"quit(255)", 255, "sys.exit(255) called", ""},
                          Case{"exit(-1)", 255, "sys.exit(-1) called", ""},
                          Case{"exit(1 << 70)", 255, "sys.exit(1180591620717411303424) called", ""},
                          Case{"raise SystemExit('bye')", 1, "bye", "bye\n"},
                          Case{"exit([1])", 1, "sys.exit([1]) called", "[1]\n"}}) {
    CAPTURE(one.script);
    const auto result = sandbox.run(one.script);
    CHECK(result.verdict == Verdict::error);
    CHECK(result.exit_code == one.exit_code);
    CHECK(result.called_exit);
    REQUIRE(result.error);
    CHECK(result.error->name == "SystemExit");
    CHECK(result.error->message == one.message);
    CHECK(result.error->traceback.empty());
    CHECK(result.stderr_text == one.stderr_text);
    check_clean_turn(sandbox);
  }
}

TEST_CASE("H18: a step may exit, and the next one finds its variables") {
  Sandbox sandbox;
  const auto exited = sandbox.step("x = 5\nimport sys\nsys.exit(2)");
  CHECK(exited.verdict == Verdict::error);
  CHECK(exited.exit_code == 2);
  CHECK(exited.called_exit);
  const auto next = sandbox.step("print(x)");
  CHECK(next.stdout_text == "5\n");
  CHECK(next.exit_code == 0);
  CHECK_FALSE(next.called_exit);
}

TEST_CASE("H18: with sys_exit = \"error\" every call is an error with a traceback") {
  Sandbox sandbox;
  for (const auto& [script, exit_code] :
       {std::pair{"import sys\nsys.exit(0)", 1}, std::pair{"exit()", 1}, std::pair{"exit(3)", 3}}) {
    CAPTURE(script);
    wire::RunRequest request = request_for(script);
    request.sys_exit = wire::SysExit::error;
    const auto result = sandbox.run(std::move(request));
    CHECK(result.verdict == Verdict::error);
    CHECK(result.exit_code == exit_code);
    CHECK_FALSE(result.called_exit);
    REQUIRE(result.error);
    CHECK(result.error->traceback.find("in <module>") != std::string::npos);
    CHECK(result.error->traceback.ends_with(
        "note: sys_exit = \"error\" in the blueprint makes every sys.exit() an error\n"));
  }
}

TEST_CASE("H19: os._exit is told apart from an end") {
  const auto result = run_and_check_next("import os\nprint('said')\nos._exit(7)");
  CHECK(result.verdict == Verdict::exited);
  CHECK(result.exit_code == 7);
  CHECK(result.stdout_text == "said\n");
  CHECK(run_and_check_next("import os\nos._exit(0)").verdict == Verdict::exited);
}

TEST_CASE("H19: a thread that exits the process ends the run") {
  const auto result = run_and_check_next(
      "import os, threading, time\nthreading.Thread(target=os._exit, args=(3,)).start()\n"
      "time.sleep(1000)");
  CHECK(result.verdict == Verdict::exited);
  CHECK(result.exit_code == 3);
}

TEST_CASE("H19: a script that kills itself has crashed") {
  for (const int number : {SIGKILL, SIGTERM, SIGABRT, SIGUSR1}) {
    const auto result =
        run_and_check_next("import os\nprint('said')\nos.kill(os.getpid(), " +
                           std::to_string(number) + ")\nimport time\ntime.sleep(99)");
    CHECK(result.verdict == Verdict::crashed);
    CHECK(result.signal == number);
    CHECK(result.stdout_text == "said\n");
  }
}

TEST_CASE("H19: a segmentation fault through ctypes is a crash") {
  const auto result = run_and_check_next("import ctypes\nctypes.string_at(0)");
  CHECK(result.verdict == Verdict::crashed);
  CHECK(result.signal == SIGSEGV);
}

TEST_CASE("H19: a script that executes another program has exited with its output") {
  const auto result = run_and_check_next(
      "import os\nprint('python')\nos.execv('/bin/echo', ['echo', 'another', 'program'])");
  CHECK(result.verdict == Verdict::exited);
  CHECK(result.exit_code == 0);
  CHECK(result.stdout_text == "python\nanother program\n");
  const auto failed = run_and_check_next("import os\nos.execv('/bin/false', ['false'])");
  CHECK(failed.verdict == Verdict::exited);
  CHECK(failed.exit_code == 1);
}

TEST_CASE("H19: an executed program that goes on for ever is ended at the time limit") {
  const auto result =
      run_and_check_next("import os\nos.execv('/bin/sleep', ['sleep', '1000'])", 0.3);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.signal);
}

TEST_CASE("H19: an executed program inherits nothing but standard input, output and error") {
  const auto result = run_and_check_next("import os\nos.execv('/bin/ls', ['ls', '/proc/self/fd'])");
  CHECK(result.verdict == Verdict::exited);
  CHECK(result.stdout_text == "0\n1\n2\n3\n");  // 3 is the directory it lists
}

TEST_CASE("H19: a script that closes its pipes ends with a verdict") {
  CHECK(run_and_check_next("import os\nos.close(0)\nprint('still')").stdout_text == "still\n");
  CHECK(run_and_check_next("import os\nos.close(1)\nprint('lost')").verdict == Verdict::error);
  CHECK(run_and_check_next("import os\nos.close(2)\nprint('out')").verdict == Verdict::ok);
  CHECK(run_and_check_next("import sys\nsys.stdout.close()\nsys.stderr.close()").verdict ==
        Verdict::ok);
  // Without the emit pipe no process can say that the script completed.
  CHECK(run_and_check_next("import os\nos.close(3)\nprint('x')").verdict == Verdict::exited);
  CHECK(run_and_check_next("import os\nos.close(4)\nprint('x')").verdict == Verdict::ok);
  CHECK(run_and_check_next("import os\nos.closerange(0, 1024)").verdict == Verdict::exited);
}

TEST_CASE("H19: a script that closes its pipes and goes on is ended at the time limit") {
  const auto result = run_and_check_next(
      "import os, time\nos.closerange(0, 1024)\nwhile True: time.sleep(1000)", 0.3);
  CHECK(result.verdict == Verdict::timeout);
}

TEST_CASE("exhausted recursion is an error, on every depth of its own making") {
  const auto shallow = run_and_check_next("def f(): f()\nf()");
  CHECK(shallow.verdict == Verdict::error);
  CHECK(shallow.error->name == "RecursionError");
  const auto deep = run_and_check_next(
      "import sys, threading\nsys.setrecursionlimit(10**9)\nf = []\nfor _ in range(10**6): f = "
      "[f]\n"
      "repr(f)");
  CHECK(deep.verdict == Verdict::crashed);
  CHECK(deep.signal == SIGSEGV);
}
