// Steps of an interactive session in a native sandbox: see also tests/integration/turns.
#include "execution/turn.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/step_attacks.h"

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

struct Session {
  NativeSandboxes sandboxes;
  std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();

  execution::ExecutionResult step(const std::string& script, double timeout_seconds = 60) {
    execution::ScriptExecutor executor(*sandbox);
    wire::RunRequest request;
    request.mode = wire::Mode::interactive;
    request.script = script;
    request.timeout_seconds = timeout_seconds;
    return run_task(sandboxes.loop(), executor.run(std::move(request)));
  }
};

}  // namespace

TEST_CASE("natively, what a thread says between two steps is dropped and changes no verdict") {
  Session session;
  REQUIRE(session.step(forge_between_steps).verdict == Verdict::ok);
  printed(session.sandboxes, *session.sandbox, let_it_forge);
  const auto second = session.step("print('second')\nraise ValueError('the true end')");
  CHECK(second.verdict == Verdict::error);
  CHECK_FALSE(second.result);
  CHECK(second.stdout_text == "second\n");
  CHECK(session.step("print('third')").stdout_text == "third\n");
}

TEST_CASE("natively, an end with an earlier step's mark does not end a step") {
  Session session;
  REQUIRE(session.step(forge_for_ever).verdict == Verdict::ok);
  const auto result = session.step(raise_after_ten_more);
  CHECK(result.verdict == Verdict::error);
  REQUIRE(result.error);
  CHECK(result.error->message == "the true end");
}

TEST_CASE("natively, a step that goes on after its claimed end is killed at its deadline") {
  Session session;
  // Twice: the second worker is forked into the sandbox from outside.
  for (int round = 0; round < 2; ++round) {
    CHECK(session.step(go_on_after_the_end, 0.3).verdict == Verdict::ok);
    const auto next = session.step("print('kept' in globals())");
    CHECK(next.verdict == Verdict::ok);
    CHECK(next.stdout_text == "False\n");
  }
}
