#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "channel/data_stream.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>

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

SandboxChannel::Listener::Wants turn(std::string id) {
  return [id = std::move(id)](const wire::Event& event) { return event.execution_id == id; };
}

std::string said(const SandboxChannel::Received& received) {
  return std::get<wire::Stdout>(received.event.body).text;
}

std::string output(const std::string& id, const std::string& text) {
  return wire::encode(wire::Event{id, wire::Stdout{text}});
}

std::string frame(wire::StreamId stream, const std::string& bytes) {
  std::string frame;
  wire::append_data_header(frame, {stream, static_cast<std::uint32_t>(bytes.size())});
  return frame + bytes;
}

// Reads `count` events of one conversation.
Task<> hear(SandboxChannel::Listener& conversation, std::size_t count, std::string& heard) {
  for (; count > 0; --count) heard += said(co_await conversation.receive());
}

}  // namespace

TEST_CASE("several conversations share one connection, and each hears its own in order") {
  Played sandbox("");
  SandboxChannel::Listener one(*sandbox.channel, turn("1"));
  SandboxChannel::Listener two(*sandbox.channel, turn("2"));
  std::string heard_one;
  std::string heard_two;
  bool pinged = false;
  const auto ping = [](SandboxChannel& channel, bool& done) -> Task<> {
    co_await channel.ping(10s);
    done = true;
  };
  asio::co_spawn(sandbox.loop, hear(one, 3, heard_one), asio::detached);
  asio::co_spawn(sandbox.loop, hear(two, 2, heard_two), asio::detached);
  asio::co_spawn(sandbox.loop, ping(*sandbox.channel, pinged), asio::detached);
  sandbox.loop.poll();
  sandbox.stream->deliver_at_most(7);
  sandbox.stream->say(output("2", "x") + output("1", "a") + output("gone", "-") + output("2", "y") +
                      line(wire::Pong{}) + output("1", "b") + output("1", "c"));
  sandbox.loop.run();
  CHECK(heard_one == "abc");
  CHECK(heard_two == "xy");
  CHECK(pinged);
  CHECK(sandbox.channel->unwanted_events() == 1);
}

TEST_CASE("a conversation that is given up while it reads leaves the stream whole for the others") {
  Played sandbox("");
  SandboxChannel::Listener other(*sandbox.channel, turn("1"));
  std::string heard;
  const auto give_up_and_hear = [](Played& played, SandboxChannel::Listener& listener,
                                   std::string& into) -> Task<> {
    SandboxChannel::Listener impatient(*played.channel, turn("never"));
    const auto wait = [](SandboxChannel::Listener& for_it) -> Task<> { co_await for_it.receive(); };
    // Half a message arrives, and then the one that reads is cancelled.
    asio::co_spawn(co_await asio::this_coro::executor, hear(listener, 2, into), asio::detached);
    const std::string message = output("1", "whole");
    played.stream->say(message.substr(0, 20));
    bool gave_up = false;
    try {
      co_await within(5ms, wait(impatient));
    } catch (const DeadlineExceeded&) {
      gave_up = true;
    }
    CHECK(gave_up);
    played.stream->say(message.substr(20) + output("1", "!"));
  };
  run_task(sandbox.loop, give_up_and_hear(sandbox, other, heard));
  sandbox.loop.restart();
  sandbox.loop.run();
  CHECK(heard == "whole!");
}

TEST_CASE("the end of the sandbox is the end of every conversation") {
  Played sandbox("");
  SandboxChannel::Listener one(*sandbox.channel, turn("1"));
  SandboxChannel::Listener two(*sandbox.channel, turn("2"));
  int ended = 0;
  const auto count = [&ended](const std::exception_ptr& failure) {
    CHECK_THROWS_AS(std::rethrow_exception(failure), IncompleteRead);
    ++ended;
  };
  std::string nothing;
  asio::co_spawn(sandbox.loop, hear(one, 1, nothing), count);
  asio::co_spawn(sandbox.loop, hear(two, 1, nothing), count);
  sandbox.stream->hang_up();
  sandbox.loop.run();
  CHECK(ended == 2);
  CHECK_THROWS_AS(run_task(sandbox.loop, sandbox.channel->receive()), IncompleteRead);
}

TEST_CASE("lines go before data that waits, and a message that was begun is never cut") {
  Played sandbox("");
  DataStream stream(*sandbox.channel);
  run_task(sandbox.loop, stream.open(wire::FileRequest{stream.id(), wire::WriteFile{"f"}}));
  sandbox.stream->heard.clear();
  sandbox.stream->clog_after(10);
  const std::string first(wire::max_frame_bytes, '1');
  const std::string second(100, '2');
  const std::string both = first + second;
  // The task that writes is cancelled inside its first frame.
  const auto write = [](DataStream& to, const std::string& bytes) -> Task<> {
    co_await to.write(bytes);
  };
  CHECK_THROWS_AS(run_task(sandbox.loop, within(1ms, write(stream, both))), DeadlineExceeded);
  asio::co_spawn(sandbox.loop, write(stream, second), asio::detached);
  asio::co_spawn(sandbox.loop, sandbox.channel->send(wire::CancelRequest{"e"}), asio::detached);
  sandbox.loop.restart();
  sandbox.loop.poll();
  sandbox.stream->unclog();
  sandbox.loop.run();
  const bool is_in_order =
      sandbox.stream->heard == frame(stream.id(), first) +
                                   wire::encode(wire::Request(wire::CancelRequest{"e"})) +
                                   frame(stream.id(), second);
  CHECK(is_in_order);
}

TEST_CASE("a data stream keeps no more than its window, and grants what was taken") {
  Played sandbox("");
  DataStream stream(*sandbox.channel);
  run_task(sandbox.loop, stream.open(wire::FileRequest{stream.id(), wire::ReadFile{"f"}}));
  sandbox.stream->heard.clear();
  const std::string bytes(wire::max_frame_bytes, 'x');
  const auto frames = static_cast<int>(wire::first_window_bytes / wire::max_frame_bytes);
  for (int i = 0; i < frames; ++i) sandbox.stream->say(frame(stream.id(), bytes));
  sandbox.stream->say(line(wire::Pong{}));
  // A ping is answered although nothing takes the data.
  run_task(sandbox.loop, sandbox.channel->ping(10s));
  sandbox.stream->heard.clear();
  for (int i = 0; i < frames; ++i) {
    const DataStream::Part part = run_task(sandbox.loop, stream.receive());
    CHECK(std::get<std::string>(part).size() == bytes.size());
  }
  const std::string grant =
      wire::encode(wire::Request(wire::Window{stream.id(), wire::first_window_bytes / 2}));
  CHECK(sandbox.stream->heard == grant + grant);
  for (int i = 0; i <= frames; ++i) sandbox.stream->say(frame(stream.id(), bytes));
  CHECK_THROWS_AS(run_task(sandbox.loop, sandbox.channel->ping(10s)), wire::ProtocolError);
}

TEST_CASE("a window that found no room goes out when there is some, without another message") {
  Played sandbox("");
  DataStream stream(*sandbox.channel);
  run_task(sandbox.loop, stream.open(wire::FileRequest{stream.id(), wire::ReadFile{"f"}}));
  // One task waits for what comes, another one takes the data that has come.
  asio::co_spawn(sandbox.loop, sandbox.channel->ping(10s), asio::detached);
  const std::string bytes(wire::max_frame_bytes, 'x');
  const auto frames = static_cast<int>(wire::first_window_bytes / wire::max_frame_bytes);
  for (int i = 0; i < frames; ++i) sandbox.stream->say(frame(stream.id(), bytes));
  sandbox.loop.restart();
  sandbox.loop.poll();
  sandbox.stream->heard.clear();
  sandbox.stream->clog_after(3);
  for (int i = 0; i < frames; ++i)
    asio::co_spawn(sandbox.loop, stream.receive(),
                   [](const std::exception_ptr& failure, const DataStream::Part& part) {
                     CHECK_FALSE(failure);
                     CHECK(std::holds_alternative<std::string>(part));
                   });
  sandbox.loop.restart();
  sandbox.loop.poll();
  CHECK(sandbox.stream->heard.size() == 3);
  sandbox.stream->unclog();
  sandbox.loop.restart();
  sandbox.loop.poll();
  const std::string grant =
      wire::encode(wire::Request(wire::Window{stream.id(), wire::first_window_bytes / 2}));
  CHECK(sandbox.stream->heard == grant + grant);
  sandbox.stream->say(line(wire::Pong{}));
  sandbox.loop.restart();
  sandbox.loop.run();
}

TEST_CASE("data of a stream that was given up are dropped, of one that never was are an error") {
  Played sandbox("");
  wire::StreamId given_up = 0;
  {
    DataStream stream(*sandbox.channel);
    given_up = stream.id();
    run_task(sandbox.loop, stream.open(wire::FileRequest{given_up, wire::ReadFile{"f"}}));
    sandbox.stream->heard.clear();
  }
  CHECK(sandbox.stream->heard == wire::encode(wire::Request(wire::Abandon{given_up})));
  sandbox.stream->say(frame(given_up, "late") + line(wire::FileAnswer{given_up, wire::FileDone{}}) +
                      line(wire::Pong{}));
  run_task(sandbox.loop, sandbox.channel->ping(10s));
  sandbox.stream->say(frame(given_up + 1, "early"));
  CHECK_THROWS_AS(run_task(sandbox.loop, sandbox.channel->ping(10s)), wire::ProtocolError);
}
