#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/encode.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

using namespace hearth;
using namespace std::chrono_literals;
using hearth::test::run_task;
using hearth::test::ScriptedStream;

namespace {

struct Played {
  asio::io_context loop;
  ScriptedStream* stream = nullptr;
  std::unique_ptr<SandboxChannel> channel;

  explicit Played(const std::string& said) {
    auto owned = std::make_unique<ScriptedStream>(loop.get_executor());
    stream = owned.get();
    stream->say(said);
    channel = std::make_unique<SandboxChannel>(std::move(owned));
  }
};

std::string line(wire::EventBody body) { return wire::encode(wire::Event{{}, std::move(body)}); }

}  // namespace

TEST_CASE("H3: a sandbox is there when it says ready") {
  Played sandbox(line(wire::Ready{"3.11.2", "1"}));
  CHECK(run_task(sandbox.loop, sandbox.channel->await_ready(1s)).python == "3.11.2");
}

TEST_CASE("H6: a sandbox that cannot start is a SpawnError with the tool's traceback") {
  Played sandbox(
      line(wire::ScriptError{"SandboxFailed", "tool a.py: ValueError: no", "Traceback"}));
  try {
    run_task(sandbox.loop, sandbox.channel->await_ready(1s));
    FAIL("no error");
  } catch (const SpawnError& error) {
    CHECK(std::string(error.what()) == "tool a.py: ValueError: no");
    CHECK(error.traceback == "Traceback");
  }
}

TEST_CASE("P32: a sandbox that never says ready is a ReadyTimeout") {
  Played sandbox("");
  CHECK_THROWS_AS(run_task(sandbox.loop, sandbox.channel->await_ready(10ms)), ReadyTimeout);
}

TEST_CASE("P33: an end of the stream is an IncompleteRead that tells whether a message was cut") {
  Played between("");
  between.stream->hang_up();
  CHECK_THROWS_WITH_AS(run_task(between.loop, between.channel->receive()),
                       "the sandbox's stream ended", IncompleteRead);
  Played inside("{\"type\":");
  inside.stream->hang_up();
  CHECK_THROWS_WITH_AS(run_task(inside.loop, inside.channel->receive()),
                       "the sandbox's stream ended inside a message", IncompleteRead);
}

TEST_CASE("a reset waits for its answer, past late events, but not for ever") {
  Played sandbox(line(wire::Stdout{"late"}) + line(wire::ResetDone{false, "busy"}));
  const wire::ResetDone done = run_task(sandbox.loop, sandbox.channel->reset(1s));
  CHECK_FALSE(done.clean);
  CHECK(sandbox.stream->heard == "{\"type\":\"reset\"}\n");
  Played silent("");
  CHECK_THROWS_AS(run_task(silent.loop, silent.channel->reset(10ms)), DeadlineExceeded);
}
