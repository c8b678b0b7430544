#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("a ping waits for its answer, past late events, but not for ever") {
  Played sandbox(wire::encode(wire::Event{"turn", wire::Stdout{"late"}}) + line(wire::Pong{}));
  run_task(sandbox.loop, sandbox.channel->ping(1s));
  CHECK(sandbox.stream->heard == "{\"type\":\"ping\"}\n");
  Played silent("");
  CHECK_THROWS_AS(run_task(silent.loop, silent.channel->ping(10ms)), DeadlineExceeded);
}

TEST_CASE("a ping to a sandbox that is gone or speaks otherwise says which") {
  Played ended("");
  ended.stream->hang_up();
  CHECK_THROWS_AS(run_task(ended.loop, ended.channel->ping(1s)), IncompleteRead);
  Played deaf("");
  deaf.stream->refuse_writes();
  CHECK_THROWS_AS(run_task(deaf.loop, deaf.channel->ping(1s)), IncompleteRead);
  Played failed(line(wire::ScriptError{"SandboxFailed", "no worker can be prepared", {}}));
  CHECK_THROWS_WITH_AS(run_task(failed.loop, failed.channel->ping(1s)), "no worker can be prepared",
                       IncompleteRead);
  Played garbled("pong\n");
  CHECK_THROWS_AS(run_task(garbled.loop, garbled.channel->ping(1s)), wire::ProtocolError);
  Played older(line(wire::ScriptError{"ProtocolError", "request refused: unknown type", {}}));
  CHECK_THROWS_WITH_AS(run_task(older.loop, older.channel->ping(1s)),
                       "request refused: unknown type", wire::ProtocolError);
}

namespace {

// Plays a sandbox that takes files and refuses the piece `refused`, counted from 0.
struct FileTaker : Played {
  std::vector<wire::WriteFileRequest> pieces;

  explicit FileTaker(std::size_t refused = static_cast<std::size_t>(-1)) : Played("") {
    stream->on_heard = [this, refused] {
      std::string request = std::exchange(stream->heard, {});
      CHECK(request.size() < std::size_t{8} << 20);
      request.pop_back();
      pieces.push_back(std::get<wire::WriteFileRequest>(wire::decode_request(request)));
      const bool refuses = pieces.size() == refused + 1;
      stream->say(line(wire::FileWritten{pieces.back().path, refuses ? "the disk is full" : ""}));
    };
  }
};

}  // namespace

TEST_CASE("a file goes in pieces that fit a line, the first in place of what was there") {
  std::string content(3'000'001, '\0');
  for (std::size_t at = 0; at < content.size(); ++at)
    content[at] = static_cast<char>(at * 2654435761U >> 16);
  FileTaker sandbox;
  run_task(sandbox.loop, sandbox.channel->write_file("a/b", content, 0640, 10s));
  std::string arrived;
  for (const wire::WriteFileRequest& piece : sandbox.pieces) {
    CHECK(piece.append == !arrived.empty());
    CHECK(piece.path == "a/b");
    CHECK(piece.mode == 0640);
    arrived += piece.data;
  }
  CHECK(sandbox.pieces.size() > 1);
  const bool is_whole = arrived == content;
  CHECK(is_whole);
}

TEST_CASE("a file without content, or of exactly some pieces, takes no piece too many") {
  FileTaker sandbox;
  run_task(sandbox.loop, sandbox.channel->write_file("empty", "", 0644, 1s));
  REQUIRE(sandbox.pieces.size() == 1);
  CHECK(sandbox.pieces[0] == wire::WriteFileRequest{"empty", "", 0644, false});
  FileTaker other;
  const std::string two_pieces(std::size_t{512} << 10, 'x');
  run_task(other.loop, other.channel->write_file("two", two_pieces, 0644, 1s));
  CHECK(other.pieces.size() == 2);
}

TEST_CASE("after a refusal nothing more of a file is sent") {
  FileTaker sandbox(1);
  const std::string content(3'000'000, 'x');
  CHECK_THROWS_WITH_AS(run_task(sandbox.loop, sandbox.channel->write_file("a", content, 0644, 10s)),
                       "the disk is full", Error);
  CHECK(sandbox.pieces.size() == 2);
}

TEST_CASE("a path that no workspace can hold is refused before anything is sent") {
  Played sandbox("");
  for (const std::string& path : {std::string(), std::string("/etc/passwd"), std::string("a/../b"),
                                  std::string("a\0b", 3), std::string("\xff")}) {
    CAPTURE(path);
    CHECK_THROWS_AS(run_task(sandbox.loop, sandbox.channel->write_file(path, "x", 0644, 1s)),
                    Error);
  }
  CHECK(sandbox.stream->heard.empty());
}

TEST_CASE("a file whose answer does not come, or tells of another, is no success") {
  Played silent("");
  CHECK_THROWS_AS(run_task(silent.loop, silent.channel->write_file("a", "x", 0644, 10ms)),
                  DeadlineExceeded);
  Played ended("");
  ended.stream->hang_up();
  CHECK_THROWS_AS(run_task(ended.loop, ended.channel->write_file("a", "x", 0644, 1s)),
                  IncompleteRead);
  Played confused(line(wire::FileWritten{"b"}));
  CHECK_THROWS_AS(run_task(confused.loop, confused.channel->write_file("a", "x", 0644, 1s)),
                  wire::ProtocolError);
}
