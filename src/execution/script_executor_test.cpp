// The host's side of a turn, against a scripted sandbox: what a real one never does must end well
// too.
#include "execution/script_executor.h"

#include "tests/support/fake_backend.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/encode.h"

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::execution;
using namespace std::chrono_literals;
using hearth::test::ScriptedStream;

namespace {

std::string line(wire::EventBody body, std::string id = "e") {
  return wire::encode(wire::Event{std::move(id), std::move(body)});
}

std::string good_end() {
  wire::ScriptDone done;
  done.started = true;
  return line(done);
}

struct Played {
  asio::io_context loop;
  test::FakeBackend backend{loop.get_executor()};
  std::unique_ptr<ScriptedStream> owned = std::make_unique<ScriptedStream>(loop.get_executor());
  ScriptedStream* stream = owned.get();
  test::FakeSandbox sandbox{loop.get_executor(), backend, "played", std::move(owned), *stream};
  bool& killed = sandbox.was_killed;
  std::unique_ptr<ScriptExecutor> executor =
      std::make_unique<ScriptExecutor>(sandbox, ExecutorOptions{.host_grace = 20ms});

  ExecutionResult run(double timeout = 30, std::uint64_t max_output_bytes = 1000) {
    return test::run_task(loop,
                          executor->run(wire::RunRequest{.execution_id = "e",
                                                         .script = "pass",
                                                         .timeout_seconds = timeout,
                                                         .max_output_bytes = max_output_bytes}));
  }
};

}  // namespace

TEST_CASE("H21: the error about missing secrets says where each was looked for") {
  Played sandbox;
  sandbox.executor = std::make_unique<ScriptExecutor>(
      sandbox.sandbox, ExecutorOptions{.places_of_secrets = {{"A", "the moon"}, {"B", "the sea"}}});
  const auto error_of = [&](std::map<std::string, std::string> env,
                            std::vector<std::string> secrets, const char* name) {
    wire::RunRequest request{.execution_id = "e",
                             .script = "pass",
                             .env = std::move(env),
                             .secrets = std::move(secrets)};
    sandbox.stream->say(line(wire::ScriptError{name, "refused", ""}) + good_end());
    return test::run_task(sandbox.loop, sandbox.executor->run(std::move(request))).error->message;
  };
  CHECK(error_of({}, {"A", "B"}, "MissingSecret") == "refused (looked for in the moon; the sea)");
  CHECK(error_of({{"A", "x"}}, {"A", "B"}, "MissingSecret") == "refused (looked for in the sea)");
  // Without a missing secret it is a script's own word, and another error is about something else.
  CHECK(error_of({{"A", "x"}}, {"A"}, "MissingSecret") == "refused");
  CHECK(error_of({}, {"A"}, "ValueError") == "refused");
}

TEST_CASE("P29: the request goes out as one line and the events come back sorted into the result") {
  Played sandbox;
  sandbox.stream->say(line(wire::Stdout{"a"}) + line(wire::Stderr{"b"}) + line(wire::Stdout{"c"}) +
                      line(wire::Log{"info", "l"}) + line(wire::Intermediate{"i", {"1"}}) +
                      line(wire::FinalResult{{"{\"n\":1}"}}) + good_end());
  const ExecutionResult result = sandbox.run();
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.started);
  CHECK(result.sandbox_usable);
  CHECK_FALSE(sandbox.killed);
  CHECK(result.stdout_text == "ac");
  CHECK(result.stderr_text == "b");
  REQUIRE(result.output_order.size() == 3);
  CHECK(result.output_order[1].is_stderr);
  CHECK(result.output_order[2].bytes == 1);
  CHECK(result.logs.size() == 1);
  CHECK(result.intermediates.size() == 1);
  CHECK(result.result->text == "{\"n\":1}");
  CHECK(sandbox.stream->heard.starts_with("{\"type\":\"run\",\"execution_id\":\"e\""));
  CHECK(sandbox.stream->heard.find('\n') == sandbox.stream->heard.size() - 1);
}

TEST_CASE("P33: wherever the stream ends, the turn is lost, and never hangs") {
  const std::string conversation =
      line(wire::Stdout{"hello"}) + line(wire::FinalResult{{"1"}}) + good_end();
  for (std::size_t cut = 0; cut < conversation.size(); ++cut) {
    CAPTURE(cut);
    Played sandbox;
    sandbox.stream->deliver_at_most(1 + cut % 7);
    sandbox.stream->say(conversation.substr(0, cut));
    sandbox.stream->hang_up();
    const ExecutionResult result = sandbox.run();
    CHECK(result.verdict == Verdict::lost);
    CHECK(result.started);  // the request was sent, so the script may have run
    CHECK_FALSE(result.sandbox_usable);
    CHECK(sandbox.killed);
    CHECK_FALSE(result.detail.empty());
  }
}

TEST_CASE("a sandbox that takes no request is lost, and its script was not started") {
  Played sandbox;
  sandbox.stream->refuse_writes();
  const ExecutionResult result = sandbox.run();
  CHECK(result.verdict == Verdict::lost);
  CHECK_FALSE(result.started);
  CHECK(sandbox.killed);
}

TEST_CASE(
    "H16: the third ring: a sandbox that never answers is killed after the limit and its grace") {
  Played sandbox;
  sandbox.stream->say(line(wire::Stdout{"before"}));
  const ExecutionResult result = sandbox.run(0.01);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.stdout_text == "before");
  CHECK(sandbox.killed);
}

TEST_CASE("what was said in time is heard, however busy the host was when its clock ran out") {
  Played sandbox;
  for (int i = 0; i < 5; ++i) sandbox.stream->say(line(wire::Stdout{std::string(60'000, 'x')}));
  sandbox.stream->say(good_end());
  const ExecutionResult result = test::run_task(
      sandbox.loop, sandbox.executor->run(wire::RunRequest{.execution_id = "e",
                                                           .script = "pass",
                                                           .timeout_seconds = 0.01,
                                                           .max_output_bytes = 1'000'000},
                                          [](const wire::Event&) {
                                            std::this_thread::sleep_for(50ms);  // a full terminal
                                          }));
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text.size() == 300'000);
}

TEST_CASE("a kill for memory is reported as such, in the result and in the events") {
  Played sandbox;
  sandbox.sandbox.hit_memory_limit = true;
  wire::ScriptDone done;
  done.ending = wire::Ending::signalled;
  done.started = true;
  done.signal = SIGKILL;
  std::vector<std::string> names;
  SUBCASE("by the kernel") {
    sandbox.stream->say(line(wire::ScriptError{wire::process_killed, "signal 9", ""}) + line(done));
    names = {"MemoryLimit"};
  }
  SUBCASE("but not one that was killed otherwise before") {
    done.signal = SIGSEGV;
    sandbox.stream->say(line(wire::ScriptError{wire::process_killed, "signal 11", ""}) +
                        line(done));
    names = {"ProcessKilled"};
  }
  SUBCASE("nor what a script only says") {
    sandbox.stream->say(line(wire::ScriptError{wire::process_killed, "forged", ""}) +
                        line(wire::ScriptError{"ValueError", "", ""}) + good_end());
    names = {"ProcessKilled", "ValueError"};
  }
  std::vector<std::string> heard;
  const auto on_event = [&](const wire::Event& event) {
    if (const auto* error = std::get_if<wire::ScriptError>(&event.body))
      heard.push_back(error->name);
    if (const auto* end = std::get_if<wire::ScriptDone>(&event.body))
      CHECK(end->out_of_memory == (names.front() == "MemoryLimit"));
  };
  const ExecutionResult result = test::run_task(
      sandbox.loop, sandbox.executor->run(wire::RunRequest{.execution_id = "e",
                                                           .script = "pass",
                                                           .timeout_seconds = 30,
                                                           .max_output_bytes = 1000,
                                                           .limits = {.memory_mb = 256}},
                                          on_event));
  CHECK(heard == names);
  CHECK(result.error->name == names.back());
  if (names.back() == "MemoryLimit")
    CHECK(result.error->message ==
          "The script needed more memory than it may use and was killed: more than 256 MB "
          "(resource_limits.memory_mb)");
}

TEST_CASE(
    "C8: a truncated output may have displays beside it, and the result tells what is missing") {
  Played sandbox;
  const std::string image(1 << 20, 'A');
  for (int i = 0; i < 7; ++i)
    sandbox.stream->say(line(wire::Display{{R"({"image/png":")" + image + "\"}"}}));
  wire::ScriptDone done;
  done.started = true;
  done.truncated = wire::Truncated{5, 0, 0, 1};
  SUBCASE("up to a limit of their own") {
    sandbox.stream->say(line(done));
    const ExecutionResult result = test::run_task(
        sandbox.loop,
        sandbox.executor->run(wire::RunRequest{.execution_id = "e",
                                               .script = "pass",
                                               .max_output_bytes = 1000,
                                               .output = wire::OutputMode::truncate}));
    CHECK(result.verdict == Verdict::ok);
    CHECK(result.displays.size() == 7);
    CHECK(result.truncated == done.truncated);
  }
  SUBCASE("but no further") {
    for (int i = 0; i < 2; ++i)
      sandbox.stream->say(line(wire::Display{{R"({"image/png":")" + image + "\"}"}}));
    sandbox.stream->say(line(done));
    const ExecutionResult result = test::run_task(
        sandbox.loop,
        sandbox.executor->run(wire::RunRequest{.execution_id = "e",
                                               .script = "pass",
                                               .max_output_bytes = 1000,
                                               .output = wire::OutputMode::truncate}));
    CHECK(result.verdict == Verdict::output_limit);
  }
}

TEST_CASE("H28: a sandbox that says more than the limit is cut off by the host's own count") {
  Played sandbox;
  for (int i = 0; i < 200; ++i) sandbox.stream->say(line(wire::Stdout{std::string(1000, 'x')}));
  sandbox.stream->say(good_end());
  const ExecutionResult result = sandbox.run(30, 1000);
  CHECK(result.verdict == Verdict::output_limit);
  CHECK(result.stdout_text.size() < 100'000);
  CHECK(sandbox.killed);
}

TEST_CASE("H32: events of another turn are dropped and counted") {
  Played sandbox;
  sandbox.stream->say(line(wire::FinalResult{{"666"}}, "earlier") +
                      line(wire::ScriptDone{}, "earlier") + line(wire::Stdout{"mine"}) +
                      good_end());
  const ExecutionResult result = sandbox.run();
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "mine");
  CHECK_FALSE(result.result);
  CHECK(result.foreign_events == 2);
}

TEST_CASE("what is no message ends the sandbox") {
  for (const std::string& garbage :
       {std::string("garbage\n"), std::string("{\"type\":\"surprise\"}\n"),
        std::string(17 << 20, 'x')}) {
    Played sandbox;
    sandbox.stream->say(garbage + good_end());
    const ExecutionResult result = sandbox.run();
    CHECK(result.verdict == Verdict::lost);
    CHECK(sandbox.killed);
  }
}

TEST_CASE(
    "a sandbox that cannot read the request or fails says so, and the turn is lost with its "
    "words") {
  Played sandbox;
  sandbox.stream->say(line(wire::ScriptError{"ProtocolError", "request refused", ""}, ""));
  const ExecutionResult result = sandbox.run();
  CHECK(result.verdict == Verdict::lost);
  CHECK(result.detail == "request refused");
}

TEST_CASE("a cancellation is sent once the request is out, and is harmless when no turn runs") {
  Played sandbox;
  test::run_task(sandbox.loop, sandbox.executor->cancel());
  CHECK(sandbox.stream->heard.empty());

  wire::ScriptDone cancelled;
  cancelled.ending = wire::Ending::cancelled;
  cancelled.started = true;
  sandbox.stream->on_heard = [&] {
    if (sandbox.stream->heard.ends_with("{\"type\":\"cancel\",\"execution_id\":\"e\"}\n"))
      sandbox.stream->say(line(cancelled));
  };
  std::future<ExecutionResult> running = asio::co_spawn(
      sandbox.loop, sandbox.executor->run(wire::RunRequest{.execution_id = "e", .script = ""}),
      asio::use_future);
  std::future<void> cancelling =
      asio::co_spawn(sandbox.loop, sandbox.executor->cancel(), asio::use_future);
  sandbox.loop.restart();
  sandbox.loop.run();
  cancelling.get();
  CHECK(running.get().verdict == Verdict::cancelled);
}
