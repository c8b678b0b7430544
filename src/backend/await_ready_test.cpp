#include "backend/await_ready.h"

#include "backend/errors.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/encode.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace hearth;
using namespace hearth::backend;
using namespace std::chrono_literals;

namespace {

wire::Ready first_message(const std::string& line, std::chrono::milliseconds limit = 1s) {
  asio::io_context loop;
  auto stream = std::make_unique<test::ScriptedStream>(loop.get_executor());
  stream->say(line);
  SandboxChannel channel(std::move(stream));
  return test::run_task(loop, await_ready(channel, limit));
}

std::string line(wire::EventBody body) { return wire::encode(wire::Event{{}, std::move(body)}); }

}  // namespace

TEST_CASE("H3: a sandbox is there when it says ready") {
  CHECK(first_message(line(wire::Ready{wire::protocol_version, "3.11.2", "1"})).python == "3.11.2");
}

TEST_CASE("H6: a sandbox that cannot start is a SpawnError with the tool's traceback") {
  try {
    first_message(
        line(wire::ScriptError{"SandboxFailed", "tool a.py: ValueError: no", "Traceback"}));
    FAIL("no error");
  } catch (const SpawnError& error) {
    CHECK(std::string(error.what()) == "tool a.py: ValueError: no");
    CHECK(error.traceback == "Traceback");
  }
}

TEST_CASE("a sandbox that begins with another message is a SpawnError") {
  CHECK_THROWS_WITH_AS(first_message(line(wire::Pong{})), "the sandbox began with pong",
                       SpawnError);
}

TEST_CASE("P32: a sandbox that never says ready is a ReadyTimeout") {
  CHECK_THROWS_AS(first_message("", 10ms), ReadyTimeout);
}

TEST_CASE("a sandbox of another protocol version is refused with both versions and the fix") {
  const std::string advice =
      ", this Hearth protocol version 2: rebuild the image, or install hearth and its programs "
      "from "
      "one release";
  CHECK_THROWS_WITH_AS(first_message(line(wire::Ready{1, "3.11.2", "1"})),
                       ("the sandbox's hearth-init speaks protocol version 1" + advice).c_str(),
                       SpawnError);
  CHECK_THROWS_WITH_AS(
      first_message("{\"type\":\"ready\",\"python\":\"3.11.2\",\"harness\":\"1\"}\n"),
      ("the sandbox's hearth-init speaks an older protocol" + advice).c_str(), SpawnError);
}
