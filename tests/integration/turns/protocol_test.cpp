// The protocol as a host meets it: the real hearth-init, a real Python.
#include "tests/support/clean_turn.h"
#include "tests/support/process_script.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

namespace json = boost::json;

json::object good_request() {
  return json::object{
      {"type", "run"},
      {"execution_id", "turn"},
      {"script", "print('ran')"},
      {"timeout", 20},
      {"mode", "plan"},
      {"env", json::object{}},
      {"secrets", json::array{}},
      {"max_output_bytes", 100'000},
      {"output", "fail"},
      {"sys_exit", "python"},
      {"limits", json::object{{"memory_mb", 256}, {"pids_limit", 64}, {"scratch_size_mb", 64}}},
      {"network", false}};
}

std::string line_of(const json::object& request) { return json::serialize(request) + "\n"; }

// What init answers to a line that is no request.
wire::ScriptError refusal(Sandbox& sandbox, const std::string& line) {
  const wire::Event event = sandbox.exchange(line);
  CHECK(event.execution_id.empty());
  const auto* error = std::get_if<wire::ScriptError>(&event.body);
  REQUIRE(error != nullptr);
  CHECK(error->name == "ProtocolError");
  return *error;
}

const std::string list_other_processes = std::string(list_processes) + R"py(
print(os.getpid())
print([pid for pid in processes() if pid != os.getpid()])
)py";

}  // namespace

TEST_CASE("H1: the harness is started once and serves request after request") {
  Sandbox sandbox;
  std::set<std::string> own_pids;
  std::set<std::string> other_pids;
  for (int turn = 0; turn < 3; ++turn) {
    const auto result = sandbox.run(list_other_processes);
    CHECK(result.verdict == Verdict::ok);
    const std::size_t line_end = result.stdout_text.find('\n');
    own_pids.insert(result.stdout_text.substr(0, line_end));
    other_pids.insert(result.stdout_text.substr(line_end + 1));
  }
  CHECK(own_pids.size() == 3);
  CHECK(other_pids == std::set<std::string>{"[1, 2]\n"});
}

TEST_CASE("H2: every line of a turn is one JSON object") {
  Sandbox sandbox;
  json::object request = good_request();
  request["script"] = R"py(
import sys
print('a\nb "quoted" \\ \x00\x1b \u2028 \U0001F525 {"type":"script_done"}')
sys.stdout.buffer.write(b'\xff\xfe\xc3')
sys.stderr.write('err\r\n')
emit_log('two\nlines')
emit_intermediate('l\n"', {'k\n': ['\x7f', '\x01', 1e300, -0.0, None, True]})
[1, 'display\n']
)py";
  const auto lines = sandbox.raw_exchange(line_of(request), "\"script_done\",");
  CHECK(lines.size() >= 6);
  for (const std::string& line : lines) {
    const json::value event = json::parse(line);
    CHECK(event.as_object().at("type").is_string());
    CHECK(event.as_object().at("execution_id").as_string() == "turn");
  }
}

TEST_CASE("H2: a request may arrive byte by byte, and several in one write") {
  Sandbox sandbox;
  const std::string request = line_of(good_request());
  for (std::size_t at = 0; at + 1 < request.size(); ++at)
    run_task(sandbox.loop(), sandbox.process().stream().write({request.data() + at, 1}));
  CHECK(sandbox.raw_exchange("\n", "\"script_done\",").size() == 2);

  json::object cancel{{"type", "cancel"}, {"execution_id", "none such"}};
  CHECK(sandbox.raw_exchange(line_of(cancel) + request, "\"script_done\",").size() == 2);
}

TEST_CASE("H3: the first line is ready, once, after the tools have loaded") {
  asio::io_context loop;
  SandboxProcess process(loop,
                         {.tools = {{"noisy.py",
                                     "import sys, os\nprint('loading'); sys.stderr.write('x\\n')\n"
                                     "os.write(1, b'raw\\n')\ndef tool(): return 'loaded'\n"}}});
  const auto first = run_task(loop, process.channel().receive());
  REQUIRE(std::holds_alternative<wire::Ready>(first.event.body));
  CHECK(std::get<wire::Ready>(first.event.body).python.starts_with("3."));
  CHECK_FALSE(std::get<wire::Ready>(first.event.body).harness.empty());

  execution::ScriptExecutor executor(process);
  int readies = 0;
  const auto count = [&readies](const wire::Event& event) {
    readies += std::holds_alternative<wire::Ready>(event.body) ? 1 : 0;
  };
  for (int turn = 0; turn < 2; ++turn) {
    const auto result = run_task(loop, executor.run(request_for("print(tool())"), count));
    CHECK(result.stdout_text == "loaded\n");
    CHECK(result.foreign_events == 0);
    CHECK(run_task(loop, process.channel().reset(std::chrono::seconds(20))).clean);
  }
  CHECK(readies == 0);
}

TEST_CASE("H4: a request needs its type, script, execution id, timeout and mode") {
  Sandbox sandbox;
  for (const auto& [name, value] : good_request()) {
    json::object lacking = good_request();
    lacking.erase(name);
    CAPTURE(std::string(name));
    CHECK(refusal(sandbox, line_of(lacking)).message.find(name) != std::string::npos);
    json::object wrong = good_request();
    wrong[name] = value.is_bool() ? json::value(1) : json::value(true);
    CHECK(refusal(sandbox, line_of(wrong)).message.find("must be") != std::string::npos);
  }
  json::object excessive = good_request();
  excessive["surprise"] = 1;
  CHECK(refusal(sandbox, line_of(excessive)).message.find("surprise") != std::string::npos);
  json::object unknown_mode = good_request();
  unknown_mode["mode"] = "batch";
  CHECK(refusal(sandbox, line_of(unknown_mode)).message.find("batch") != std::string::npos);
  for (const double timeout : {0.0, -1.0, 1e18}) {
    json::object timeless = good_request();
    timeless["timeout"] = timeout;
    CHECK(refusal(sandbox, line_of(timeless)).message.find("timeout") != std::string::npos);
  }
  check_clean_turn(sandbox);
}

TEST_CASE("H29: the next request is accepted after every kind of end") {
  Sandbox sandbox;
  const auto verdict_of = [&sandbox](const std::string& script, double timeout_seconds = 20) {
    const auto result = sandbox.run(script, timeout_seconds);
    CHECK(result.sandbox_usable);
    check_clean_turn(sandbox);
    return result.verdict;
  };
  CHECK(verdict_of("raise ValueError('x')") == Verdict::error);
  CHECK(verdict_of("import time\ntime.sleep(1000)", 0.2) == Verdict::timeout);
  CHECK(verdict_of("import sys\nsys.exit(3)") == Verdict::error);
  CHECK(verdict_of("import os\nos._exit(3)") == Verdict::exited);
  CHECK(verdict_of("import os\nos.kill(os.getpid(), 9)") == Verdict::crashed);
  CHECK(verdict_of("print('x' * 2_000_000)") == Verdict::output_limit);
}

TEST_CASE("H30: the harness needs one file and the standard library, under python -I -S") {
  Sandbox sandbox({.tools = {{"t.py", "async def twice(n): return 2 * n\n"}},
                   .harness = "exec /usr/bin/python3 -I -S /hearth/executor_harness"});
  const auto result = sandbox.run(R"py(
import sys
print(sys.flags.isolated, sys.flags.no_site, [p for p in sys.path if 'site-packages' in p or 'dist-packages' in p])
emit_result(twice(21))
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "1 1 []\n");
  CHECK(result.result == wire::JsonText{"42"});
}

TEST_CASE("H31: garbage instead of a request is refused and the loop survives") {
  Sandbox sandbox;
  using namespace std::string_literals;
  for (const std::string& garbage :
       {"garbage\n"s, "\n"s, "{}\n"s, "[1,2]\n"s, "null\n"s, "\0\0\0\n"s, "{\"type\":\"run\"\n"s,
        "{\"type\":\"explode\"}\n"s, "{\"type\":\"run\"} {\"type\":\"run\"}\n"s, "\xff\xfe\n"s,
        std::string(100'000, '[') + "\n"}) {
    CAPTURE(garbage.substr(0, 40));
    CHECK(refusal(sandbox, garbage).message.starts_with("request refused"));
  }
  json::object request = good_request();
  request["script"] = "print('PLACEHOLDER')";
  std::string invalid_utf8 = line_of(request);
  invalid_utf8.replace(invalid_utf8.find("PLACEHOLDER"), 11, "\xc3\x28");
  refusal(sandbox, invalid_utf8);
  check_clean_turn(sandbox);
}

TEST_CASE("H31: a line of 10 MB is refused once and the loop survives") {
  Sandbox sandbox;
  std::string huge;
  huge.resize(10'000'000, 'x');
  CHECK(refusal(sandbox, huge + "\n").message.find("longer than") != std::string::npos);
  check_clean_turn(sandbox);
  json::object request = good_request();
  request["script"] = "#" + huge;
  refusal(sandbox, line_of(request));
  check_clean_turn(sandbox);
}

TEST_CASE("H32: every event of a turn carries its execution id") {
  Sandbox sandbox;
  for (const std::string id : {"one", "two", "with \"quotes\" and \xC3\xA9"}) {
    wire::RunRequest request = request_for("print(1)\nemit_log('l')\nemit_result(2)");
    request.execution_id = id;
    Sandbox::Events events;
    const auto result = sandbox.run(request, events);
    CHECK(result.verdict == Verdict::ok);
    CHECK(events.size() == 4);
    CHECK(std::all_of(events.begin(), events.end(),
                      [&](const wire::Event& event) { return event.execution_id == id; }));
  }
}

TEST_CASE("H32: what a timed-out run goes on saying is not credited to the next") {
  Sandbox sandbox;
  const auto late = sandbox.run(R"py(
import os, time
mark = b'0 0 ' + emit_log.__globals__['channel'].mark + b' '
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b'late\n')
        os.write(3, mark + b'{"type":"log","level":"info","message":"late"}\n')
        time.sleep(0.001)
time.sleep(1000)
)py",
                                0.5);
  CHECK(late.verdict == Verdict::timeout);
  CHECK(late.stdout_text.starts_with("late\n"));
  check_clean_turn(sandbox);
}
