#include "docker/engine_client.h"

#include "tests/support/fake_engine.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

namespace hearth::docker {
namespace {

using test::answer;
using test::FakeEngine;
using test::pong;

struct Fixture {
  asio::io_context loop{1};
  FakeEngine engine{loop};
  EngineClient client{engine.address()};

  // The first words.
  Task<std::string> attach() {
    const HttpConnection::Hijacked stream = co_await client.attach("abc", std::chrono::seconds(5));
    co_return stream.first_bytes;
  }
  EngineAnswer call(EngineCall wanted) { return test::run_task(loop, client.call(wanted)); }
};

}  // namespace

TEST_CASE("the version that both know is spoken, and connections are used again") {
  Fixture f;
  f.engine.will_say(pong);
  f.engine.will_say(answer("200 OK", R"({"a":1})"));
  f.engine.will_say(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n");
  f.engine.will_say("HTTP/1.1 204 No Content\r\n\r\n");
  CHECK(f.call({.path = "/info"}).body.at("a") == boost::json::value(1));
  CHECK(boost::json::serialize(f.call({.path = "/list?all=1"}).body) == "[1,2]");
  const EngineAnswer made = f.call({.method = "POST", .path = "/make", .body = {{"key", "value"}}});
  CHECK(made.status == 204);
  CHECK(made.body.is_null());
  CHECK(f.engine.requests ==
        std::vector<std::string>{"GET /_ping HTTP/1.1", "GET /v1.41/info HTTP/1.1",
                                 "GET /v1.41/list?all=1 HTTP/1.1", "POST /v1.41/make HTTP/1.1"});
  CHECK(f.engine.last_request.find("Content-Type: application/json") != std::string::npos);
  CHECK(f.engine.last_request.ends_with(R"({"key":"value"})"));
  CHECK(f.engine.connections == 1);
}

TEST_CASE("a refusal has its status and the engine's words") {
  Fixture f;
  f.engine.will_say(pong);
  f.engine.will_say(answer("404 Not Found", R"({"message":"no such container"})"));
  f.engine.will_say(answer("400 Bad Request", "plain words"));
  f.engine.will_say(answer("500 Internal Server Error", ""));
  f.engine.will_say(answer("409 Conflict", R"({"message":"busy"})"));
  const auto refusal = [&](EngineCall call) {
    try {
      f.call(std::move(call));
    } catch (const EngineError& error) {
      return std::to_string(error.status) + ' ' + error.what();
    }
    return std::string("none");
  };
  CHECK(refusal({.path = "/x?secret=1"}) == "404 GET /x: no such container");
  CHECK(refusal({.path = "/x"}) == "400 GET /x: plain words");
  CHECK(refusal({.path = "/x"}) == "500 GET /x: no reason given");
  CHECK(f.call({.method = "DELETE", .path = "/x", .accepted = {409}}).status == 409);
  CHECK(f.engine.connections == 1);
}

TEST_CASE("a connection that the engine gave up is not used again") {
  Fixture f;
  f.engine.will_say(pong, true);
  f.engine.will_say(answer("200 OK", "1", "Connection: close\r\n"), true);
  f.engine.will_say("HTTP/1.1 200 OK\r\n\r\n2", true);  // without a length: until its end
  f.engine.will_say(answer("200 OK", "3"));
  CHECK(f.call({.path = "/a"}).body == boost::json::value(1));
  CHECK(f.call({.path = "/b"}).body == boost::json::value(2));
  CHECK(f.call({.path = "/c"}).body == boost::json::value(3));
  CHECK(f.engine.connections == 4);
}

TEST_CASE("answers that break off are no answers, and the next engine is asked for its version") {
  Fixture f;
  f.engine.will_say(pong);
  f.engine.will_say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true);
  f.engine.will_say("HTT", true);
  f.engine.will_say(answer("200 OK", "OK", "Api-Version: 1.39\r\n"));
  f.engine.will_say(answer("200 OK", "1"));
  CHECK_THROWS_WITH_AS(f.call({.path = "/a"}), doctest::Contains("broke off its answer to GET"),
                       EngineUnreachable);
  CHECK_THROWS_AS(f.call({.path = "/b"}), EngineUnreachable);
  CHECK(f.call({.path = "/c"}).body == boost::json::value(1));
  CHECK(f.engine.requests.back() == "GET /v1.39/c HTTP/1.1");
}

TEST_CASE("an attached stream begins with what came in one piece with the answer") {
  for (const char* head :
       {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"}) {
    Fixture f;
    f.engine.will_say(pong);
    f.engine.will_say(head + std::string("first words"));
    CHECK(test::run_task(f.loop, f.attach()) == "first words");
    CHECK(f.engine.last_request.find("Upgrade: tcp") != std::string::npos);
  }
  Fixture f;
  f.engine.will_say(pong);
  f.engine.will_say(answer("404 Not Found", R"({"message":"gone"})"));
  CHECK_THROWS_WITH_AS(test::run_task(f.loop, f.attach()), doctest::Contains("gone"), EngineError);
}

TEST_CASE("what is streamed comes bit by bit, and what is uploaded arrives") {
  Fixture f;
  f.engine.will_say(pong);
  f.engine.will_say(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  std::string got;
  const std::string context(200'000, 'x');
  test::run_task(
      f.loop, f.client.stream({.method = "POST", .path = "/build"}, {"application/x-tar", context},
                              [&](std::string_view bytes) { got += bytes; }));
  CHECK(got == "abc");
  CHECK(f.engine.last_request.ends_with(context));
  CHECK(f.engine.last_request.find("Content-Type: application/x-tar") != std::string::npos);
}

TEST_CASE("versions and paths") {
  CHECK(common_api_version("1.41") == "1.41");
  CHECK(common_api_version("1.9") == "1.9");
  CHECK(common_api_version("1.999") == "1.47");
  CHECK(common_api_version("") == "1.47");
  CHECK(common_api_version("2.0") == "1.47");
  CHECK(url_encode("a-b_c.d~/ {\"ü") == "a-b_c.d~%2F%20%7B%22%C3%BC");
}

}  // namespace hearth::docker
