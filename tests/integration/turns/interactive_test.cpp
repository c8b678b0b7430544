// INTERACTIVE: steps that share their variables for the length of a lease.
#include "tests/support/clean_turn.h"
#include "tests/support/process_script.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"
#include "wire/encode.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using wire::Mode;

namespace {

bool is_log(const wire::Event& event) { return std::holds_alternative<wire::Log>(event.body); }

// The value of an expression over the lease's variables, as text.
std::string value_of(Sandbox& sandbox, const std::string& expression) {
  const auto result = sandbox.step("print(" + expression + ")");
  CHECK(result.verdict == Verdict::ok);
  return result.stdout_text.substr(0, result.stdout_text.find('\n'));
}

std::string error_of(Sandbox& sandbox, const std::string& script) {
  const auto result = sandbox.step(script);
  CHECK(result.verdict == Verdict::error);
  return result.error ? result.error->name : "";
}

}  // namespace

TEST_CASE("C2: PLAN is the default and runs a whole script to its final result") {
  CHECK(wire::RunRequest().mode == Mode::plan);
  Sandbox sandbox;
  const auto result = sandbox.run("total = sum(range(10))\nprint(total)\nemit_result(total)");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "45\n");
  CHECK(result.result == wire::JsonText{"45"});
}

TEST_CASE("C2: INTERACTIVE runs step after step on the same variables") {
  Sandbox sandbox;
  CHECK(sandbox.step("import math\nradius = 2\ndef area(r): return math.pi * r * r").verdict ==
        Verdict::ok);
  const auto shown = sandbox.step("round(area(radius), 2)");
  REQUIRE(shown.displays.size() == 1);
  CHECK(shown.displays[0].data.text == R"({"text/plain":"12.57"})");
  CHECK(shown.displays[0].is_value);
  CHECK(sandbox.step("radius += 1\nprint(_)").stdout_text == "12.57\n");
  CHECK(value_of(sandbox, "radius") == "3");
}

TEST_CASE("H9: every PLAN run has fresh globals, after failures too") {
  Sandbox sandbox;
  for (const auto& [script, timeout_seconds] :
       std::initializer_list<std::pair<std::string, double>>{
           {"x = 1", 20},
           {"x = 1\nglobals()['y'] = 2\nraise ValueError", 20},
           {"x = 1\nimport time\ntime.sleep(1000)", 0.2},
           {"x = 1\nimport os\nos._exit(0)", 20},
           {"x = 1\nemit_result(x)", 20}}) {
    sandbox.run(script, timeout_seconds);
    const auto next = sandbox.run("print(x)");
    CHECK(next.verdict == Verdict::error);
    REQUIRE(next.error);
    CHECK(next.error->name == "NameError");
  }
}

TEST_CASE("H10: PLAN runs and INTERACTIVE steps do not see each other's variables") {
  Sandbox sandbox;
  CHECK(sandbox.step("x = 'step'").verdict == Verdict::ok);
  const auto plan = sandbox.run("print('x' in globals())\nx = 'plan'");
  CHECK(plan.stdout_text == "False\n");
  CHECK(value_of(sandbox, "x") == "step");
  CHECK(sandbox.reset().clean);
  CHECK(error_of(sandbox, "x") == "NameError");
}

TEST_CASE("C2: a failed step keeps what came before it and what it did before it failed") {
  Sandbox sandbox;
  CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
  const auto failed = sandbox.step("partial = 2\n1 / 0\nnever = 3");
  CHECK(failed.verdict == Verdict::error);
  CHECK_FALSE(failed.state_lost);
  CHECK(failed.error->traceback.find("<step 2>\", line 2") != std::string::npos);
  CHECK(value_of(sandbox, "(kept, partial, 'never' in globals())") == "(1, 2, False)");
  CHECK(error_of(sandbox, "def broken(:") == "SyntaxError");
  CHECK(error_of(sandbox, "import sys\nsys.exit(1)") == "SystemExit");
  CHECK(value_of(sandbox, "kept") == "1");
}

TEST_CASE("C2: a timed-out step keeps the variables when Python could stop") {
  Sandbox sandbox;
  CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
  const auto late = sandbox.step("partial = 2\nimport time\ntime.sleep(1000)", 0.3);
  CHECK(late.verdict == Verdict::timeout);
  CHECK_FALSE(late.state_lost);
  CHECK(value_of(sandbox, "(kept, partial)") == "(1, 2)");
}

TEST_CASE("C2: a step that had to be killed says that the variables are lost") {
  Sandbox sandbox;
  const std::pair<std::string, Verdict> cases[] = {
      {"import itertools\nsum(itertools.repeat(0))", Verdict::timeout},
      {"import os\nos._exit(3)", Verdict::exited},
      {"import ctypes\nctypes.string_at(0)", Verdict::crashed},
      {"print('x' * 3_000_000)", Verdict::output_limit}};
  for (const auto& [script, verdict] : cases) {
    CAPTURE(script);
    CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
    const auto killed = sandbox.step(script, 0.5);
    CHECK(killed.verdict == verdict);
    CHECK(killed.state_lost);
    CHECK(killed.sandbox_usable);
    CHECK(error_of(sandbox, "kept") == "NameError");
  }
  check_clean_turn(sandbox);
}

TEST_CASE("C2: variables that were lost between two steps are said to be at the next") {
  Sandbox sandbox;
  // The worker reads its next request from descriptor 4; without it, it ends after this step.
  const auto last = sandbox.step("kept = 1\nimport os\nos.close(4)");
  CHECK(last.verdict == Verdict::ok);
  // Init, the harness and the script itself: then the worker's end has been seen.
  CHECK(sandbox
            .run(std::string(list_processes) +
                 "import time\nwhile len(processes()) > 3: time.sleep(0.001)")
            .verdict == Verdict::ok);
  const auto next = sandbox.step("print('kept' in globals())");
  CHECK(next.stdout_text == "False\n");
  // The end may also have been seen in time for the step itself.
  const bool warned = !next.logs.empty() && next.logs[0].level == "warning";
  CHECK(warned != last.state_lost);
}

TEST_CASE("a cancelled step gets a KeyboardInterrupt and keeps the variables") {
  Sandbox sandbox;
  CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
  const auto cancelled = sandbox.run_and_cancel(
      request_for("import threading, time\npartial = 2\n"
                  "threading.Timer(0.2, emit_log, ('running',)).start()\ntime.sleep(1000)",
                  100, Mode::interactive),
      is_log);
  CHECK(cancelled.verdict == Verdict::cancelled);
  CHECK_FALSE(cancelled.state_lost);
  CHECK(cancelled.sandbox_usable);
  REQUIRE(cancelled.error);
  CHECK(cancelled.error->name == "KeyboardInterrupt");
  CHECK(cancelled.error->traceback.find("time.sleep(1000)") != std::string::npos);
  CHECK(value_of(sandbox, "(kept, partial)") == "(1, 2)");
}

TEST_CASE("a cancelled step that does not stop is killed and its variables are lost") {
  Sandbox sandbox;
  CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
  // Said by another process, when this one is where nothing interrupts it.
  const auto cancelled = sandbox.run_and_cancel(
      request_for(R"py(
import itertools, os, time
if os.fork() == 0:
    time.sleep(0.2)
    os.write(1, b'running')
    os._exit(0)
sum(itertools.repeat(0))
)py",
                  100, Mode::interactive),
      [](const wire::Event& event) { return std::holds_alternative<wire::Stdout>(event.body); });
  CHECK(cancelled.verdict == Verdict::cancelled);
  CHECK(cancelled.state_lost);
  CHECK(cancelled.signal == SIGKILL);
  CHECK(cancelled.sandbox_usable);
  CHECK(error_of(sandbox, "kept") == "NameError");
}

TEST_CASE("a cancelled step that handles the interrupt and finishes is finished") {
  Sandbox sandbox;
  const auto result = sandbox.run_and_cancel(request_for(R"py(
import time
try:
    emit_log('running')
    time.sleep(1000)
except KeyboardInterrupt:
    saved = 'saved'
)py",
                                                         100, Mode::interactive),
                                             is_log);
  CHECK(result.verdict == Verdict::ok);
  CHECK(value_of(sandbox, "saved") == "saved");
}

TEST_CASE("a PLAN run can be cancelled, whether or not it wants to") {
  Sandbox sandbox;
  for (const std::string script :
       {"emit_log('running')\nimport time\ntime.sleep(1000)",
        "emit_log('running')\nwhile True:\n    try:\n        while True: sum(range(99))\n"
        "    except BaseException: pass",
        "emit_log('running')\nimport os\nos.execv('/bin/sleep', ['sleep', '1000'])"}) {
    CAPTURE(script);
    const auto result = sandbox.run_and_cancel(request_for(script, 100), is_log);
    CHECK(result.verdict == Verdict::cancelled);
    CHECK(result.sandbox_usable);
    check_clean_turn(sandbox);
  }
}

TEST_CASE("a step that is cancelled in the moment it starts keeps the variables") {
  Sandbox sandbox;
  CHECK(sandbox.step("kept = 1").verdict == Verdict::ok);
  wire::RunRequest request = request_for("import time\ntime.sleep(1000)", 100, Mode::interactive);
  request.execution_id = "early";
  const std::string run = wire::encode(wire::Request(request));
  const std::string cancel = wire::encode(wire::Request(wire::CancelRequest{"early"}));
  for (int attempt = 0; attempt < 20; ++attempt) {
    // Two writes: init may or may not have handed the script over when the second comes.
    run_task(sandbox.loop(), sandbox.process().stream().write(run));
    const auto lines = sandbox.raw_exchange(cancel, "\"script_done\",");
    CHECK(lines.back().find("\"cancelled\"") != std::string::npos);
  }
  CHECK(value_of(sandbox, "kept") == "1");
}

TEST_CASE("a step that dies while the next worker is being prepared leaves the sandbox usable") {
  Sandbox sandbox;
  for (int round = 0; round < 60; ++round) {
    CHECK(sandbox.step("n = 1").verdict == Verdict::ok);
    CHECK(sandbox.step("import os\nos._exit(3)").verdict == Verdict::exited);
  }
  check_clean_turn(sandbox);
}

TEST_CASE("what a step started in the background lives until the reset") {
  Sandbox sandbox;
  CHECK(sandbox.step("import subprocess\nchild = subprocess.Popen(['sleep', '1000'])").verdict ==
        Verdict::ok);
  CHECK(value_of(sandbox, "child.poll()") == "None");
  CHECK(sandbox.reset().clean);
  const auto processes = sandbox.run(std::string(list_processes) + "print(processes()[:-1])");
  CHECK(processes.stdout_text == "[1, 2]\n");
}

TEST_CASE("a step's CPU is its own and its children's, and no later step's") {
  Sandbox sandbox;
  const auto busy = sandbox.step(R"py(
import os, time
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    os._exit(0)
os.wait()
)py");
  CHECK(busy.verdict == Verdict::ok);
  CHECK(busy.usage.cpu_seconds >= 0.25);
  const auto idle = sandbox.step("time.sleep(0.02)");
  CHECK(idle.usage.cpu_seconds < 0.1);
}

// A holder keeps the pipes of a worker open that was killed before it had said that it is prepared.
TEST_CASE("a worker that is killed while it starts is replaced, and its turn begins") {
  Sandbox sandbox;
  // Of the next three processes, the harness makes one that makes the worker, and that its holder.
  REQUIRE(sandbox
              .step(R"py(
import os, signal, time
if os.fork() == 0:
    me, end = os.getpid(), time.monotonic() + 5
    while time.monotonic() < end:
        try:
            os.kill(me + 3, 0)
            os.kill(me + 2, signal.SIGKILL)
            break
        except OSError: pass
    os._exit(0)
)py")
              .verdict == Verdict::ok);
  const auto next = sandbox.run("print('begun')", 3);
  // It may come late, and kill what has begun. But no process waits for one that is gone.
  const bool ran = next.verdict == Verdict::ok && next.stdout_text == "begun\n";
  CHECK((ran || next.verdict == Verdict::crashed));
}
