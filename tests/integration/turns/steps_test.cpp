// INTERACTIVE: what one step can do to the verdict and the time of another, and what it cannot.
#include "tests/support/clean_turn.h"
#include "tests/support/process_script.h"
#include "tests/support/sandbox_process.h"
#include "tests/support/step_attacks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using wire::Mode;

namespace {

bool has_log(const execution::ExecutionResult& result, const std::string& part) {
  return std::any_of(result.logs.begin(), result.logs.end(), [&](const wire::Log& log) {
    return log.message.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("what a thread says between two steps is dropped and changes no verdict") {
  Sandbox sandbox;
  REQUIRE(sandbox.step(forge_between_steps).verdict == Verdict::ok);
  REQUIRE(sandbox.run(let_it_forge).verdict == Verdict::ok);
  const auto second = sandbox.step("print('second')\nraise ValueError('the true end')");
  CHECK(second.verdict == Verdict::error);
  CHECK_FALSE(second.result);
  CHECK(second.stdout_text == "second\n");
  CHECK(second.stderr_text.empty());
  REQUIRE(second.error);
  CHECK(second.error->message == "the true end");
  CHECK(has_log(second, "between the steps was dropped: 24 bytes of text, 4 records"));
  const auto third = sandbox.step("print('third')");
  CHECK(third.verdict == Verdict::ok);
  CHECK(third.stdout_text == "third\n");
  CHECK(third.logs.empty());
}

TEST_CASE("a pipe full of text from between two steps does not reach the next step") {
  Sandbox sandbox;
  REQUIRE(sandbox
              .step(forge_records + R"py(
import fcntl, threading, time
F_SETPIPE_SZ = 1031
size = fcntl.fcntl(1, F_SETPIPE_SZ, 1 << 20)
def work():
    while not os.path.exists('/workspace/go'): time.sleep(0.001)
    os.write(1, b'x' * size)
    open('/workspace/forged', 'w').close()
threading.Thread(target=work, daemon=True).start()
)py")
              .verdict == Verdict::ok);
  REQUIRE(sandbox.run(let_it_forge).verdict == Verdict::ok);
  CHECK(sandbox.step("print('next')").stdout_text.size() == std::string("next\n").size());
}

TEST_CASE("a record cut by the end of a step does not take the next step's first with it") {
  Sandbox sandbox;
  REQUIRE(sandbox
              .step(forge_records + R"py(
import threading, time
def work():
    while not os.path.exists('/workspace/go'): time.sleep(0.001)
    os.write(3, b'0 0 {"type":"log","level":"info",')
    open('/workspace/forged', 'w').close()
threading.Thread(target=work, daemon=True).start()
)py")
              .verdict == Verdict::ok);
  REQUIRE(sandbox.run(let_it_forge).verdict == Verdict::ok);
  const auto next = sandbox.step("emit_result(2)");
  CHECK(next.verdict == Verdict::ok);
  CHECK(next.result == wire::JsonText{"2"});
}

TEST_CASE("an end with an earlier step's mark does not end a step") {
  Sandbox sandbox;
  REQUIRE(sandbox.step(forge_for_ever).verdict == Verdict::ok);
  for (int round = 0; round < 3; ++round) {
    const auto result = sandbox.step(raise_after_ten_more);
    CHECK(result.verdict == Verdict::error);
    REQUIRE(result.error);
    CHECK(result.error->message == "the true end");
    CHECK(has_log(result, "malformed records"));
  }
}

TEST_CASE("a step that goes on after it has claimed its end is killed at its deadline") {
  Sandbox sandbox;
  const auto claimed = sandbox.step(go_on_after_the_end, 0.3);
  CHECK(claimed.verdict == Verdict::ok);
  // Init, the harness and the script itself.
  CHECK(sandbox
            .run(std::string(list_processes) +
                 "import time\nwhile len(processes()) > 3: time.sleep(0.001)")
            .verdict == Verdict::ok);
  const auto next = sandbox.step("print('kept' in globals())");
  CHECK(next.stdout_text == "False\n");
  CHECK(has_log(next, "ran on past its deadline"));
  check_clean_turn(sandbox);
}

TEST_CASE("a step does not wait for an earlier one that goes on past its own deadline") {
  Sandbox sandbox;
  CHECK(sandbox.step(go_on_after_the_end, 0.3).verdict == Verdict::ok);
  const auto next = sandbox.step("print('kept' in globals())");
  CHECK(next.verdict == Verdict::ok);
  CHECK(next.stdout_text == "False\n");
  CHECK(has_log(next, "ran on past its deadline"));
  CHECK(sandbox.step("print(1)").stdout_text == "1\n");
  check_clean_turn(sandbox);
}

TEST_CASE("a session that rests longer than its step's deadline keeps its variables") {
  Sandbox sandbox;
  // A thread may use the processor meanwhile.
  REQUIRE(sandbox
              .step("kept = 1\nimport threading\ndef work():\n    while True: pass\n"
                    "threading.Thread(target=work, daemon=True).start()",
                    0.2)
              .verdict == Verdict::ok);
  CHECK(sandbox.run("import time\ntime.sleep(2)").verdict == Verdict::ok);
  const auto next = sandbox.step("print(kept)");
  CHECK(next.stdout_text == "1\n");
  CHECK(next.logs.empty());
}

TEST_CASE("what a thread of an earlier step emits is labelled, and it has no result") {
  Sandbox sandbox;
  REQUIRE(sandbox
              .step("from concurrent.futures import ThreadPoolExecutor\n"
                    "pool = ThreadPoolExecutor(1)\npool.submit(emit_log, 'first').result()")
              .logs.at(0)
              .message == "first");
  const auto second = sandbox.step(
      "pool.submit(emit_log, 'second').result()\n"
      "pool.submit(emit_intermediate, 'rows', 3).result()\n"
      "import threading\nown = threading.Thread(target=emit_log, args=('own',))\n"
      "own.start()\nown.join()\n"
      "print(type(pool.submit(emit_result, 1).exception()).__name__)\nemit_result(2)");
  CHECK(second.verdict == Verdict::ok);
  CHECK(second.stdout_text == "RuntimeError\n");
  CHECK(second.result == wire::JsonText{"2"});
  REQUIRE(second.logs.size() == 2);
  CHECK(second.logs[0].message == "[thread of step 1] second");
  CHECK(second.logs[1].message == "own");
  REQUIRE(second.intermediates.size() == 1);
  CHECK(second.intermediates[0].label == "[thread of step 1] rows");
}

TEST_CASE("of several results that a script forges the first is the only one") {
  for (const Mode mode : {Mode::plan, Mode::interactive}) {
    Sandbox sandbox;
    Sandbox::Events events;
    const auto result = sandbox.run(request_for(forge_records + R"py(
for n in range(3): forge(b'{"type":"final_result","data":%d}' % n)
)py",
                                                20, mode),
                                    events);
    CHECK(result.verdict == Verdict::ok);
    CHECK(result.result == wire::JsonText{"0"});
    CHECK(std::count_if(events.begin(), events.end(), [](const wire::Event& event) {
            return std::holds_alternative<wire::FinalResult>(event.body);
          }) == 1);
    CHECK(has_log(result, "2 malformed records"));
  }
}
