// A sandbox of the native backend, from the first fork to the last trace.
#include "tests/support/in_sandbox.h"
#include "tests/support/native_sandbox.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

TEST_CASE("a native sandbox runs a script") {
  NativeSandboxes sandboxes;
  const auto result = sandboxes.run("print('hello')\nemit_result(6 * 7)");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "hello\n");
  REQUIRE(result.result);
  CHECK(result.result->text == "42");
}
