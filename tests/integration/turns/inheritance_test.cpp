// A script may change limits and priorities of other processes of its user, and forks inherit them:
// what it does to the harness must not reach a later turn.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

constexpr const char* look = R"py(
import ctypes, os, resource
print([resource.getrlimit(kind) for kind in range(16)], os.getpriority(os.PRIO_PROCESS, 0),
      os.sched_getscheduler(0), os.sched_getaffinity(0), ctypes.CDLL(None).syscall(252, 1, 0))
)py";

// The next turn sees nothing of it, or there is no next turn in this sandbox.
void check_not_inherited(const std::string& attack) {
  CAPTURE(attack);
  Sandbox sandbox;
  const std::string untouched = sandbox.run(look).stdout_text;
  CHECK(untouched.starts_with("["));
  const auto result =
      sandbox.run("import ctypes, os, resource\nHARNESS = 2\n" + attack + "\nprint('done')");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "done\n");
  const auto next = sandbox.run(look);
  if (next.verdict == Verdict::lost) {
    CHECK(next.stdout_text.empty());
  } else {
    CHECK(next.verdict == Verdict::ok);
    CHECK(next.stdout_text == untouched);
  }
}

}  // namespace

TEST_CASE("resource limits that a script gives to the harness reach no later turn") {
  check_not_inherited("resource.prlimit(HARNESS, resource.RLIMIT_NOFILE, (200, 200))");
  check_not_inherited("resource.prlimit(HARNESS, resource.RLIMIT_AS, (10**13, 10**13))");
  check_not_inherited("resource.prlimit(HARNESS, resource.RLIMIT_FSIZE, (4242, 4242))");
  // A soft limit alone is enough for a message.
  check_not_inherited(
      "soft, hard = resource.getrlimit(resource.RLIMIT_STACK)\n"
      "resource.prlimit(HARNESS, resource.RLIMIT_STACK, (4242 * 4096, hard))");
}

TEST_CASE("a priority that a script gives to the harness reaches no later turn") {
  check_not_inherited("os.setpriority(os.PRIO_PROCESS, HARNESS, 19)");
  check_not_inherited("os.setpriority(os.PRIO_USER, 0, 19)");
  check_not_inherited("os.sched_setscheduler(HARNESS, os.SCHED_BATCH, os.sched_param(0))");
  check_not_inherited("assert ctypes.CDLL(None).syscall(251, 1, HARNESS, (2 << 13) | 7) == 0");
}

TEST_CASE("processors that a script takes from the harness are given back") {
  Sandbox sandbox;
  const std::string all = sandbox.run(look).stdout_text;
  CHECK(sandbox.run("import os\nos.sched_setaffinity(2, {min(os.sched_getaffinity(2))})").verdict ==
        Verdict::ok);
  CHECK(sandbox.run(look).stdout_text == all);
}

TEST_CASE("what a script does to itself it may do, and it stays its own") {
  Sandbox sandbox;
  const std::string untouched = sandbox.run(look).stdout_text;
  const auto result = sandbox.run(R"py(
import os, resource
os.nice(5)
os.umask(0o777)
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.setpriority(os.PRIO_PGRP, 0, 19)
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(sandbox.run(look).stdout_text == untouched);
  check_clean_turn(sandbox);
}

TEST_CASE("a script that takes init's descriptors or processor time loses the sandbox at most") {
  for (const std::string attack : {"resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))",
                                   "resource.prlimit(1, resource.RLIMIT_NPROC, (0, 0))",
                                   "resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))"}) {
    CAPTURE(attack);
    Sandbox sandbox;
    const auto result = sandbox.run("import resource\n" + attack);
    CHECK((result.verdict == Verdict::ok || result.verdict == Verdict::lost));
    const auto next = sandbox.run("print('clean')");
    CHECK((next.verdict == Verdict::ok || next.verdict == Verdict::lost));
  }
}

// Init has the script's user, so a script can change these in it too, and later turns would feel
// it.
TEST_CASE("a sandbox whose init a script has limited runs nothing more") {
  for (const std::string attack : {"resource.prlimit(1, resource.RLIMIT_NOFILE, (30, 30))",
                                   "resource.prlimit(1, resource.RLIMIT_AS, (10**10, 10**10))",
                                   "os.setpriority(os.PRIO_PROCESS, 1, 19)",
                                   "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))"}) {
    CAPTURE(attack);
    Sandbox sandbox;
    CHECK(sandbox.run("import os, resource\n" + attack).verdict == Verdict::ok);
    const auto next = sandbox.run("print('innocent')");
    CHECK(next.verdict == Verdict::lost);
    CHECK(next.stdout_text.empty());
  }
}
