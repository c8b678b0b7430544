// What a script may say at most, and what becomes of one that says more.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

void check_cut(const execution::ExecutionResult& result) {
  CHECK(result.verdict == Verdict::output_limit);
  CHECK(result.started);
  CHECK(result.sandbox_usable);
  REQUIRE(result.error);
  CHECK(result.error->name == "OutputLimit");
  CHECK(result.error->message ==
        "Output limit of 1048576 bytes reached (resource_limits.max_output_bytes)");
  CHECK(result.usage.output_bytes <= 1'048'576);
}

}  // namespace

TEST_CASE("C8: output over 1 MB is cut and ends the run") {
  CHECK(wire::RunRequest().max_output_bytes == 1'048'576);
  Sandbox sandbox;
  const auto result = sandbox.run("for n in range(20): print(str(n % 10) * 100_000)");
  check_cut(result);
  // All of what fits arrives, from the beginning.
  CHECK(result.stdout_text.size() > 1'000'000);
  CHECK(result.stdout_text.substr(0, 100'001) == std::string(100'000, '0') + "\n");
  CHECK(result.stdout_text.substr(900'009, 5) == "99999");
  check_clean_turn(sandbox);
}

TEST_CASE("C8: what stays under the limit is not touched and counts as it is on the wire") {
  Sandbox sandbox;
  const auto result = sandbox.run("print('y' * 1_000_000)\nemit_result('all')");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == std::string(1'000'000, 'y') + "\n");
  CHECK(result.usage.output_bytes > 1'000'000);
  CHECK(result.usage.output_bytes < 1'048'576);
}

TEST_CASE("C8: bytes that grow on the wire count as they grow") {
  Sandbox sandbox;
  // Each becomes six: \u0001.
  const auto result = sandbox.run("print('\\x01' * 300_000)");
  check_cut(result);
  CHECK(result.stdout_text.size() < 200'000);
}

TEST_CASE("C8: stderr, displays and intermediates count too") {
  Sandbox sandbox;
  check_cut(sandbox.run("import sys\nwhile True: sys.stderr.write('e' * 1000)"));
  check_cut(sandbox.run("while True: emit_intermediate('i', 'x' * 1000)"));
  check_cut(sandbox.run("emit_result('x' * 2_000_000)"));
  check_cut(sandbox.run("import os\nwhile True: os.system('yes | head -c 100000')"));
  check_clean_turn(sandbox);
}

TEST_CASE("C8: a limit of nothing lets a silent script pass") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("x = 1");
  request.max_output_bytes = 0;
  CHECK(sandbox.run(request).verdict == Verdict::ok);
  request.script = "print(1)";
  const auto result = sandbox.run(request);
  CHECK(result.verdict == Verdict::output_limit);
  CHECK(result.stdout_text.empty());
}

TEST_CASE("H28: a script that logs for ever is ended by the output limit") {
  Sandbox sandbox;
  const auto result = sandbox.run("while True: emit_log('again')", 100);
  check_cut(result);
  CHECK(result.logs.size() > 1000);
  check_clean_turn(sandbox);
}

TEST_CASE("H28: 7 million events end at the output limit") {
  Sandbox sandbox;
  check_cut(sandbox.run("for n in range(7_000_000): emit_log(str(n))", 100));
  check_clean_turn(sandbox);
}

TEST_CASE("7 million events without an output limit are still ended by the time limit") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("for n in range(7_000_000): emit_log(str(n))", 2);
  request.max_output_bytes = 1ULL << 40;
  const auto result = sandbox.run(request);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.sandbox_usable);
  CHECK(result.logs.size() > 1000);
  // Whatever was passed on came whole and in order.
  for (std::size_t n = 0; n < result.logs.size(); ++n)
    if (result.logs[n].message != std::to_string(n)) FAIL("lost or torn at " << n);
  check_clean_turn(sandbox);
}

TEST_CASE("records written past the helpers flood no better than those written with them") {
  Sandbox sandbox;
  const std::string flood = R"py(
import os
mark = emit_log.__globals__['channel'].mark
record = b'0 0 ' + mark + b' {"type":"log","level":"info","message":"m"}\n'
record *= 1000
for _ in range(7000): os.write(3, record)
)py";
  check_cut(sandbox.run(flood, 100));
  wire::RunRequest request = request_for(flood, 2);
  request.max_output_bytes = 1ULL << 40;
  const auto result = sandbox.run(request);
  CHECK(result.sandbox_usable);
  CHECK((result.verdict == Verdict::timeout || result.verdict == Verdict::ok));
  check_clean_turn(sandbox);
}

TEST_CASE("100 MB in one line end at the output limit") {
  Sandbox sandbox;
  const auto result = sandbox.run("print('x' * 100_000_000)", 100);
  check_cut(result);
  CHECK(result.stdout_text == std::string(result.stdout_text.size(), 'x'));
  check_clean_turn(sandbox);
}

TEST_CASE("100 MB in one line arrive whole where they are allowed") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("print('x' * 100_000_000)", 100);
  request.max_output_bytes = 200'000'000;
  const auto result = sandbox.run(request);
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text.size() == 100'000'001);
  CHECK(result.stdout_text.find_first_not_of('x') == 100'000'000);
  check_clean_turn(sandbox);
}

TEST_CASE("a record of 100 MB without an end is dropped and said to be") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os
os.write(3, b'0 0 {"type":"log","level":"info","message":"')
for _ in range(100): os.write(3, b'x' * 1_000_000)
os.write(3, b'\n')
print('on')
)py",
                                  100);
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "on\n");
  REQUIRE(result.logs.size() == 1);
  CHECK(result.logs[0].message == "1 malformed records of the script were dropped");
  check_clean_turn(sandbox);
}

TEST_CASE("C8: a script whose output is truncated runs to its end, and says how much is missing") {
  Sandbox sandbox;
  wire::RunRequest request = request_for(R"py(
import sys
for number in range(200_000):
    print('line', number)
print('careful', file=sys.stderr)
emit_log('done')
emit_result({'lines': 200_000})
)py");
  request.max_output_bytes = 10'000;
  request.output = wire::OutputMode::truncate;
  const auto result = sandbox.run(std::move(request));
  CHECK(result.verdict == execution::Verdict::ok);
  CHECK(result.stdout_text.starts_with("line 0\nline 1\n"));
  CHECK(result.stdout_text.ends_with("\nline 199998\nline 199999\n"));
  CHECK(result.stderr_text == "careful\n");
  CHECK(result.logs.size() == 1);
  CHECK(result.result->text == R"({"lines":200000})");
  REQUIRE(result.truncated);
  CHECK(result.truncated->stdout_bytes > 2'000'000);
  CHECK(result.truncated->stderr_bytes == 0);
  CHECK(result.stdout_text.find("[... " + std::to_string(result.truncated->stdout_bytes) +
                                " bytes left out ...]\n") != std::string::npos);
  CHECK(result.usage.output_bytes <= 10'000);
  check_clean_turn(sandbox);
}

TEST_CASE("C8: what a script said last before its time was over is kept of a truncated output") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("n = 0\nwhile True:\n    print(n)\n    n += 1", 1);
  request.max_output_bytes = 10'000;
  request.output = wire::OutputMode::truncate;
  const auto result = sandbox.run(std::move(request));
  CHECK(result.verdict == execution::Verdict::timeout);
  CHECK_FALSE(result.exit_code);
  CHECK(result.stdout_text.starts_with("0\n1\n2\n"));
  REQUIRE(result.truncated);
  check_clean_turn(sandbox);
}

TEST_CASE("H28: a flood of a truncated output costs init no memory") {
  Sandbox sandbox;
  wire::RunRequest request = request_for("for _ in range(200): print('x' * (1 << 20))");
  request.output = wire::OutputMode::truncate;
  const std::uint64_t before = sandbox.process().init_peak_memory_bytes();
  const auto result = sandbox.run(std::move(request));
  CHECK(result.verdict == execution::Verdict::ok);
  CHECK(result.truncated->stdout_bytes > 190'000'000);
  CHECK(sandbox.process().init_peak_memory_bytes() < before + (8 << 20));
}
