// What a script can say, and in which order it arrives.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"
#include "tests/support/step_attacks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

std::vector<std::string> types_of(const Sandbox::Events& events) {
  std::vector<std::string> types;
  for (const wire::Event& event : events) types.emplace_back(type_of(event.body));
  return types;
}

}  // namespace

TEST_CASE("H11: emit_result ends the script but finally blocks run") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
try:
    try:
        emit_result({'answer': 42})
    except Exception:
        print('an ordinary except does not see it')
    print('never')
finally:
    print('finally')
print('never')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.result == wire::JsonText{R"({"answer":42})"});
  CHECK(result.stdout_text == "finally\n");
}

TEST_CASE("H11: a second emit_result is ignored and logged") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
try:
    emit_result(1)
except:
    emit_result(2)
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.result == wire::JsonText{"1"});
  REQUIRE(result.logs.size() == 1);
  CHECK(result.logs[0].level == "warning");
}

TEST_CASE("H12: intermediates arrive in order and before the end") {
  Sandbox sandbox;
  Sandbox::Events events;
  const auto result = sandbox.run(
      request_for("for n in range(3): emit_intermediate('step', n)\nemit_result('end')"), events);
  CHECK(types_of(events) == std::vector<std::string>{"intermediate", "intermediate", "intermediate",
                                                     "final_result", "script_done"});
  REQUIRE(result.intermediates.size() == 3);
  for (std::size_t n = 0; n < 3; ++n)
    CHECK(result.intermediates[n] == wire::Intermediate{"step", {std::to_string(n)}});
}

TEST_CASE("H12: an intermediate arrives while the script runs") {
  Sandbox sandbox;
  // The script never ends by itself, so only an event that came before its end can end it.
  const auto result = sandbox.run_and_cancel(
      request_for("import time\nemit_intermediate('so far', [1])\nwhile True: time.sleep(1)", 60),
      [](const wire::Event& event) {
        return std::holds_alternative<wire::Intermediate>(event.body);
      });
  CHECK(result.verdict == Verdict::cancelled);
}

TEST_CASE("H13: log messages have a level and leave the result alone") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
emit_log('plain')
for level in ('debug', 'info', 'warning', 'error', 'critical'):
    emit_log(level.upper(), level=level)
emit_log({'not': 'text'}, 'error')
emit_result('unaffected')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.result == wire::JsonText{"\"unaffected\""});
  CHECK_FALSE(result.error);
  CHECK(result.logs == std::vector<wire::Log>{{"info", "plain"},
                                              {"debug", "DEBUG"},
                                              {"info", "INFO"},
                                              {"warning", "WARNING"},
                                              {"error", "ERROR"},
                                              {"critical", "CRITICAL"},
                                              {"error", "{'not': 'text'}"}});
  CHECK(sandbox.run("emit_log('m', 'loud')").verdict == Verdict::error);
}

TEST_CASE("H14: data that is no JSON is an error of the script and the stream stays valid") {
  Sandbox sandbox;
  for (const std::string data : {"object()", "{'a': [1, object()]}", "{(1, 2): 3}", "b'bytes'",
                                 "circular", "deep", "huge"}) {
    CAPTURE(data);
    const auto result = sandbox.run(R"py(
circular = []
circular.append(circular)
deep = []
for _ in range(5000): deep = [deep]
huge = 'x' * 9_000_000
print('before')
emit_result()py" + data + ")");
    CHECK(result.verdict == Verdict::error);
    REQUIRE(result.error);
    CHECK(result.error->message.find("emit_result") != std::string::npos);
    CHECK(result.error->traceback.find("line 8") != std::string::npos);
    CHECK(result.stdout_text == "before\n");
    CHECK_FALSE(result.result);
    CHECK(result.foreign_events == 0);
  }
  check_clean_turn(sandbox);
}

TEST_CASE("H14: numbers that JSON lacks become null with a warning") {
  Sandbox sandbox;
  const auto result = sandbox.run("emit_result([float('nan'), float('inf'), 1.5])");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.result == wire::JsonText{"[null,null,1.5]"});
  CHECK(result.logs.size() == 1);
}

TEST_CASE("H20: script_done is the last event of every run, exactly once") {
  Sandbox sandbox;
  struct Case {
    std::string script;
    double timeout_seconds;
    std::vector<std::string> secrets;
    wire::Ending ending;
  };
  using enum wire::Ending;
  const std::vector<Case> cases = {{"print('fine')", 20, {}, completed},
                                   {"raise ValueError", 20, {}, failed},
                                   {"import time\ntime.sleep(1000)", 0.2, {}, timed_out},
                                   {"import sys\nsys.exit(2)", 20, {}, failed},
                                   {"import os\nos._exit(2)", 20, {}, exited},
                                   {"import os\nos.abort()", 20, {}, signalled},
                                   {"print('x' * 3_000_000)", 20, {}, output_limit},
                                   {"print('not run')", 20, {"ABSENT"}, missing_secret}};
  for (const Case& one : cases) {
    CAPTURE(one.script);
    wire::RunRequest request = request_for(one.script, one.timeout_seconds);
    request.secrets = one.secrets;
    Sandbox::Events events;
    const auto result = sandbox.run(request, events);
    const auto types = types_of(events);
    CHECK(std::count(types.begin(), types.end(), "script_done") == 1);
    REQUIRE(types.back() == "script_done");
    CHECK(std::get<wire::ScriptDone>(events.back().body).ending == one.ending);
    // A second one, or anything late, would be the next turn's first event.
    CHECK(result.foreign_events == 0);
  }
  check_clean_turn(sandbox);
}

TEST_CASE("H21: a run without its secrets is refused with all the names and does not start") {
  Sandbox sandbox({.environment = {{"OF_THE_SANDBOX", "s"}}});
  wire::RunRequest request = request_for("open('/workspace/ran', 'w')");
  request.secrets = {"API_KEY", "OF_THE_SANDBOX", "GIVEN", "DB_PASSWORD"};
  request.env = {{"GIVEN", "g"}};
  const auto refused = sandbox.run(request);
  CHECK(refused.verdict == Verdict::missing_secret);
  CHECK_FALSE(refused.started);
  CHECK(refused.sandbox_usable);
  REQUIRE(refused.error);
  CHECK(refused.error->message == "required secrets are missing: API_KEY, DB_PASSWORD");

  request = request_for(R"py(
import os
print(os.path.exists('/workspace/ran'), os.environ['API_KEY'], os.environ['OF_THE_SANDBOX'])
)py");
  request.secrets = {"API_KEY", "OF_THE_SANDBOX"};
  request.env = {{"API_KEY", "k"}};
  CHECK(sandbox.run(request).stdout_text == "False k s\n");
  CHECK(sandbox.run("import os\nprint(os.environ.get('API_KEY'))").stdout_text == "None\n");
}

TEST_CASE("H22: threads and tools that emit at once never tear each other's events") {
  Sandbox sandbox({.tools = {{"chatty.py", R"py(
async def chatter(count):
    for n in range(count):
        emit_log('tool %d %s' % (n, 'x' * 200))
)py"}}});
  wire::RunRequest request = request_for(R"py(
import threading
def emit(who):
    for n in range(1000):
        emit_intermediate(who, {'n': n, 'filler': 'y' * (n % 300)})
threads = [threading.Thread(target=emit, args=('thread %d' % i,)) for i in range(8)]
for thread in threads: thread.start()
chatter(2000)
for thread in threads: thread.join()
)py",
                                         100);
  request.max_output_bytes = 100'000'000;
  const auto result = sandbox.run(request);
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.intermediates.size() == 8000);
  CHECK(result.logs.size() == 2000);
  std::map<std::string, int> next;
  for (const wire::Intermediate& one : result.intermediates)
    CHECK(one.data.text.starts_with("{\"n\":" + std::to_string(next[one.label]++) + ","));
  CHECK(next.size() == 8);
}

TEST_CASE("H23: what a script prints is text, however much it looks like the protocol") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, sys
line = '{"type":"final_result","data":666}'
print(line)
os.write(1, line.encode() + b'\n')
print(line, file=sys.stderr)
os.write(2, line.encode() + b'\n')
os.system("echo '%s'" % line)
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK_FALSE(result.result);
  const std::string line = "{\"type\":\"final_result\",\"data\":666}\n";
  CHECK(result.stdout_text == line + line + line);
  CHECK(result.stderr_text == line + line);
}

TEST_CASE("H23: prints, errors and events keep the order in which the script made them") {
  Sandbox sandbox;
  Sandbox::Events events;
  sandbox.run(request_for(R"py(
import sys
for n in range(3):
    print('out', n)
    print('err', n, file=sys.stderr)
    emit_log('log %d' % n)
)py"),
              events);
  CHECK(types_of(events) == std::vector<std::string>{"stdout", "stderr", "log", "stdout", "stderr",
                                                     "log", "stdout", "stderr", "log",
                                                     "script_done"});
}

TEST_CASE("H26: no script brings about an event outside the documented set") {
  Sandbox sandbox;
  std::set<std::string> seen;
  const auto forged = [](const std::string& record) {
    return forge_records + "forge(b'" + record + "')";
  };
  for (const std::string& script : std::vector<std::string>{
           "print('o')", "import sys\nsys.stderr.write('e')", "emit_log('l')", "emit_result(1)",
           "emit_intermediate('i', 1)", "[1]", "raise ValueError", "import os\nos._exit(1)",
           forged(R"({"type":"ready","python":"","harness":""})"),
           forged(R"({"type":"reset_done","clean":true,"message":""})"),
           forged(R"({"type":"script_done","ending":"completed","started":true})"),
           forged(R"({"type":"prepared","pid":1})"), forged(R"({"type":"invented"})")}) {
    for (const wire::Mode mode : {wire::Mode::plan, wire::Mode::interactive}) {
      Sandbox::Events events;
      const auto result = sandbox.run(request_for(script, 20, mode), events);
      CHECK(result.foreign_events == 0);
      for (const std::string& type : types_of(events)) seen.insert(type);
    }
  }
  CHECK(seen == std::set<std::string>{"stdout", "stderr", "log", "final_result", "intermediate",
                                      "display", "error", "script_done"});
}
