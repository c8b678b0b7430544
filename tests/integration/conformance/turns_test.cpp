// How a turn goes, on every backend: what a script may expect, what its caller gets.
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

TYPE_TO_STRING(hearth::test::NativeBackend);
TYPE_TO_STRING(hearth::test::DockerBackend);
TEST_CASE_TEMPLATE("a script runs and every kind of event arrives", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import sys
print("out")
print("err", file=sys.stderr)
emit_log("note")
emit_intermediate("half", {"n": 1})
1 + 1
)");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.started);
  CHECK(result.sandbox_usable);
  CHECK(result.stdout_text == "out\n");
  CHECK(result.stderr_text == "err\n");
  REQUIRE(result.intermediates.size() == 1);
  CHECK(result.intermediates[0].label == "half");
  REQUIRE(result.displays.size() == 1);
  CHECK(result.displays[0].data.text.find("\"2\"") != std::string::npos);
  CHECK(result.logs.size() == 1);
  const auto last = backend.run("emit_result({'answer': 42, 'text': 'ü'})\nprint('not reached')");
  REQUIRE(last.result);
  CHECK(last.result->text == R"({"answer":42,"text":"ü"})");
  CHECK(last.stdout_text.empty());
}

TEST_CASE_TEMPLATE("each ending has its verdict", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const auto verdict_of = [&](const std::string& script, double seconds = 20) {
    return backend.run_in(*sandbox, script, seconds).verdict;
  };
  CHECK(verdict_of("x = 1") == Verdict::ok);
  CHECK(verdict_of("1 / 0") == Verdict::error);
  CHECK(verdict_of("import sys; sys.exit(3)") == Verdict::error);
  CHECK(verdict_of("import os; os._exit(3)") == Verdict::exited);
  CHECK(verdict_of("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)") == Verdict::crashed);
  CHECK(verdict_of("while True: pass", 0.3) == Verdict::timeout);
  CHECK(verdict_of("import time\ntime.sleep(60)", 0.3) == Verdict::timeout);
  CHECK(verdict_of("while True: print('x' * 10000)") == Verdict::output_limit);
  // After all that it is as good as new.
  CHECK(verdict_of("print('still here')") == Verdict::ok);
}

TEST_CASE_TEMPLATE("C4: a script that takes too much memory is ended for that", Backend,
                   ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.resource_limits.memory_mb = 64;
  config.resource_limits.memory_swap_mb = 0;
  Backend backend(config);
  const auto result = backend.run("x = bytearray(1 << 30)");
  CHECK(result.verdict == Verdict::memory_limit);
  // A signal of its own is not the kernel's.
  CHECK(backend.run("import os; os.kill(os.getpid(), 9)").verdict == Verdict::crashed);
}

TEST_CASE_TEMPLATE("a script without its secret is not begun, and with it sees it", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  wire::RunRequest request;
  request.script = "import os; print(os.environ['API_KEY'])";
  request.secrets = {"API_KEY"};
  const auto missing = backend.run_in(*sandbox, request);
  CHECK(missing.verdict == Verdict::missing_secret);
  CHECK_FALSE(missing.started);
  request.env = {{"API_KEY", "s3cret"}};
  CHECK(backend.run_in(*sandbox, request).stdout_text == "s3cret\n");
  // And no turn after it.
  CHECK(backend.run_in(*sandbox, "import os; print('API_KEY' in os.environ)").stdout_text ==
        "False\n");
}

TEST_CASE_TEMPLATE("steps share their variables, and keep them when one fails", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const auto step = [&](const std::string& script, double seconds = 20) {
    return backend.run_in(*sandbox, script, seconds, wire::Mode::interactive);
  };
  CHECK(step("a = 20").verdict == Verdict::ok);
  CHECK(step("b = 22\n1 / 0").verdict == Verdict::error);
  CHECK(step("while True: pass", 0.3).verdict == Verdict::timeout);
  CHECK(step("print(a + b)").stdout_text == "42\n");
}

TEST_CASE_TEMPLATE("a script can be cancelled", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  execution::ScriptExecutor executor(*sandbox);
  wire::RunRequest request;
  request.script = "print('begun', flush=True)\nimport time\ntime.sleep(60)";
  const auto result = run_task(backend.loop(), executor.run(request, [&](const wire::Event& event) {
    if (std::holds_alternative<wire::Stdout>(event.body))
      asio::co_spawn(backend.loop(), executor.cancel(), asio::detached);
  }));
  CHECK(result.verdict == Verdict::cancelled);
  CHECK(result.stdout_text == "begun\n");
  CHECK(backend.run_in(*sandbox, "x = 1").verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("the end of a sandbox is told at once, whatever caused it", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  execution::ScriptExecutor executor(*sandbox);
  wire::RunRequest request;
  request.script = "print('begun', flush=True)\nimport time\ntime.sleep(60)";
  const auto result = run_task(backend.loop(), executor.run(request, [&](const wire::Event& event) {
    if (std::holds_alternative<wire::Stdout>(event.body)) sandbox->kill();
  }));
  CHECK(result.verdict == Verdict::lost);
  CHECK_FALSE(result.sandbox_usable);
  run_task(backend.loop(), sandbox->exited());
}

TEST_CASE_TEMPLATE("H25: tools and their sources are there", Backend, ON_EVERY_BACKEND) {
  registry::Tool tool;
  tool.config.name = "doubling";
  tool.config.blueprints = {"default"};
  tool.source = "def twice(x):\n    return 2 * x\n";
  Backend backend(Backend::config(), {tool});
  CHECK(backend.run("import os; print(twice(21), os.path.exists('/tools/doubling.py'))")
            .stdout_text == "42 True\n");
}

TEST_CASE_TEMPLATE("preloaded modules are there before the script", Backend, ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.preload = {"decimal"};
  Backend backend(config);
  CHECK(backend.run("import sys; print('decimal' in sys.modules, 'wave' in sys.modules)")
            .stdout_text == "True False\n");
}

TEST_CASE_TEMPLATE("large output and large requests pass whole", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  wire::RunRequest request;
  request.max_output_bytes = std::uint64_t{64} << 20;
  request.script = "data = '" + std::string(1'000'000, 'y') + "'\nprint(len(data))\n" +
                   "for i in range(100): print(str(i % 10) * 99_999)\n";
  const auto result = backend.run_in(*sandbox, request);
  CHECK(result.verdict == Verdict::ok);
  std::string expected = "1000000\n";
  for (int i = 0; i < 100; ++i)
    expected += std::string(99'999, static_cast<char>('0' + i % 10)) + '\n';
  CHECK(result.stdout_text == expected);
}

TEST_CASE_TEMPLATE("C23: all sandboxes of a blueprint have the same Python and packages", Backend,
                   ON_EVERY_BACKEND) {
  const std::string list = R"(
import importlib.metadata, sys
print(sys.version)
for name in sorted(found.metadata["Name"] + " " + found.version for found in importlib.metadata.distributions()):
    print(name)
)";
  Backend backend;
  const auto first = backend.run(list);
  const auto second = backend.run(list);
  CHECK(first.verdict == Verdict::ok);
  CHECK(first.stdout_text.find('.') != std::string::npos);
  CHECK(first.stdout_text == second.stdout_text);
}
