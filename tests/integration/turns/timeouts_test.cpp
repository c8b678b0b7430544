// Time has three rings: the script's alarm, init's clock, the host's clock. Each is tested with the
// inner ones disabled.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace hearth;
using namespace hearth::test;
using namespace std::chrono_literals;
using execution::ExecutionResult;
using execution::Verdict;

namespace {

constexpr double short_limit = 0.3;

bool alarm_ended(const ExecutionResult& result) {
  return result.verdict == Verdict::timeout && result.sandbox_usable && !result.signal &&
         result.error && !result.error->traceback.empty();
}

bool init_ended(const ExecutionResult& result) {
  return result.verdict == Verdict::timeout && result.sandbox_usable && result.signal == SIGKILL &&
         result.error && result.error->traceback.empty();
}

}  // namespace

TEST_CASE("C7: a script has 30 seconds of wall clock unless told otherwise") {
  CHECK(wire::RunRequest().timeout_seconds == 30);
  Sandbox sandbox;
  const auto result = sandbox.run("import time\ntime.sleep(1000)", short_limit);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.started);
  CHECK(result.usage.wall_seconds >= short_limit);
  CHECK(result.usage.cpu_seconds < short_limit);
}

TEST_CASE("H15: a time-out is an exception in the script with its line and the limit") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import time
print('before')
def wait():
    time.sleep(1000)
wait()
print('never')
)py",
                                  short_limit);
  CHECK(alarm_ended(result));
  CHECK(result.stdout_text == "before\n");
  CHECK(result.error->name == "ScriptTimeout");
  CHECK(result.error->message ==
        "Script timed out after 0.3s (resource_limits.execution_timeout_sec, or the timeout of the "
        "run)");
  CHECK(result.error->traceback.find("line 5, in wait\n    time.sleep(1000)") != std::string::npos);
  CHECK(result.error->traceback.find("executor_harness") == std::string::npos);
}

TEST_CASE("H15: finally blocks run at a time-out and an ordinary except does not catch it") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
try:
    while True:
        try:
            while True: sum(range(100))
        except Exception:
            print('caught')
finally:
    print('cleaned up')
)py",
                                  short_limit);
  CHECK(alarm_ended(result));
  CHECK(result.stdout_text == "cleaned up\n");
}

TEST_CASE("H15: the alarm is gone afterwards") {
  Sandbox sandbox;
  CHECK(sandbox.run("import time\ntime.sleep(1000)", 0.2).verdict == Verdict::timeout);
  CHECK(sandbox.run("import time\ntime.sleep(0.4)").verdict == Verdict::ok);
  // Also within one process: a step that is done leaves no alarm for the next.
  CHECK(sandbox.step("n = 1", 0.2).verdict == Verdict::ok);
  CHECK(sandbox.step("import time\ntime.sleep(0.4)").verdict == Verdict::ok);
  CHECK(sandbox.step("import signal\nsignal.getitimer(signal.ITIMER_REAL)[0] > 1").verdict ==
        Verdict::ok);
}

TEST_CASE("H15: a script that finishes with its own time-out message is no time-out") {
  Sandbox sandbox;
  const auto result = sandbox.run("import os, signal\nos.kill(os.getpid(), signal.SIGALRM)");
  CHECK(result.verdict == Verdict::error);
  CHECK(result.usage.wall_seconds < 20);
}

TEST_CASE("H15: a time-out during a tool, a subprocess or exit handlers still ends the run") {
  Sandbox sandbox({.tools = {{"t.py", "import time\ndef slow(): time.sleep(1000)\n"}}});
  for (const std::string script :
       {"slow()", "import subprocess\nsubprocess.run(['sleep', '1000'])",
        "import atexit, time\natexit.register(time.sleep, 1000)",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"}) {
    CAPTURE(script);
    const auto result = sandbox.run(script, short_limit);
    CHECK(result.verdict == Verdict::timeout);
    CHECK(result.sandbox_usable);
    check_clean_turn(sandbox);
  }
}

TEST_CASE("H16: a script that masks every signal is ended by init") {
  Sandbox sandbox;
  CHECK(init_ended(sandbox.run(R"py(
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True: time.sleep(1000)
)py",
                               short_limit)));
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a script that cancels its alarm and catches everything is ended by init") {
  Sandbox sandbox;
  CHECK(init_ended(sandbox.run(R"py(
import signal, time
signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0)
while True:
    try:
        while True: time.sleep(1000)
    except BaseException:
        print('not now')
)py",
                               short_limit)));
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a script that catches its time-out again and again is ended by init") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import time
def again():
    while True:
        try:
            time.sleep(1000)
        except BaseException as error:
            print(type(error).__name__)
again()
)py",
                                  short_limit);
  CHECK(init_ended(result));
  CHECK(result.stdout_text == "ScriptTimeout\n");
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a script that ignores SIGALRM is ended by init") {
  Sandbox sandbox;
  CHECK(
      init_ended(sandbox.run("import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
                             "while True: time.sleep(1000)",
                             short_limit)));
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a loop in C that never looks at signals is ended by init") {
  Sandbox sandbox;
  CHECK(init_ended(sandbox.run("import itertools\nsum(itertools.repeat(0))", short_limit)));
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a catastrophic regular expression ends at the time limit") {
  Sandbox sandbox;
  const auto result = sandbox.run("import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')", short_limit);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.sandbox_usable);
  check_clean_turn(sandbox);
}

TEST_CASE("H16: a script that stops itself is ended by init") {
  Sandbox sandbox;
  CHECK(init_ended(
      sandbox.run("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", short_limit)));
  check_clean_turn(sandbox);
}

TEST_CASE("H16: an init that does not answer is ended by the host together with its sandbox") {
  Sandbox sandbox({.host_grace = 300ms});
  const auto stop_init = [&sandbox](const wire::Event& event) {
    if (std::holds_alternative<wire::Log>(event.body)) sandbox.process().signal_init(SIGSTOP);
  };
  const auto result = sandbox.run(
      request_for("import time\nemit_log('running')\ntime.sleep(1000)", short_limit), stop_init);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.started);
  CHECK(result.logs.size() == 1);
  CHECK_FALSE(result.sandbox_usable);
  CHECK(sandbox.process().was_killed());
}

TEST_CASE("H16: an init that was stopped before the request is ended by the host") {
  Sandbox sandbox({.host_grace = 300ms});
  sandbox.process().signal_init(SIGSTOP);
  // More than the socket holds, so that not even the request gets through.
  const auto result = sandbox.run("#" + std::string(4'000'000, 'x'), short_limit);
  CHECK(result.verdict == Verdict::timeout);
  CHECK_FALSE(result.sandbox_usable);
  CHECK(sandbox.process().was_killed());
}
