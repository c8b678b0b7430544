// The protocol as a host meets it: the real hearth-init, a real Python.
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

TEST_CASE("H1: the harness is started once and serves request after request") {
  Sandbox sandbox;
  for (int turn = 0; turn < 3; ++turn) {
    const auto result = sandbox.run("print('turn')");
    CHECK(result.verdict == Verdict::ok);
    CHECK(result.stdout_text == "turn\n");
  }
}
