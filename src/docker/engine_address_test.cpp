#include "docker/engine_address.h"

#include "base/error.h"

#include <doctest/doctest.h>

#include <cerrno>

namespace hearth::docker {
namespace {

bool says(const std::string& text, std::string_view words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("addresses of engines are read and written") {
  CHECK(parse_engine_address("unix:///run/docker.sock") ==
        EngineAddress{.socket = "/run/docker.sock"});
  CHECK(parse_engine_address("tcp://127.0.0.1:2375") ==
        EngineAddress{.host = "127.0.0.1", .port = 2375});
  CHECK(parse_engine_address("tcp://localhost:99").host == "127.0.0.1");
  CHECK(parse_engine_address("tcp://127.0.0.1").port == 2375);
  CHECK(parse_engine_address("tcp://[::1]:7").text() == "tcp://[::1]:7");
  CHECK(parse_engine_address("unix:///a b").text() == "unix:///a b");
}

TEST_CASE("addresses that would not be safe or make no sense are refused") {
  for (const char* text : {"tcp://192.0.2.1:2375", "tcp://example.org:2375", "tcp://127.0.0.1:0",
                           "tcp://127.0.0.1:65536", "tcp://127.0.0.1:x", "unix://relative",
                           "/run/docker.sock", "ssh://host", "npipe:////./pipe/docker_engine", ""})
    CHECK_THROWS_AS(parse_engine_address(text), Error);
}

TEST_CASE("the configuration comes before DOCKER_HOST, and that before the usual socket") {
  CHECK(choose_engine_address("", {}).socket == "/var/run/docker.sock");
  CHECK(choose_engine_address("", {{"DOCKER_HOST", "unix:///x"}}).socket == "/x");
  CHECK(choose_engine_address("unix:///y", {{"DOCKER_HOST", "unix:///x"}}).socket == "/y");
  CHECK(choose_engine_address("", {{"DOCKER_HOST", ""}}).socket == "/var/run/docker.sock");
}

TEST_CASE("B1: what cannot be reached comes with what to do") {
  const EngineAddress usual{.socket = "/var/run/docker.sock"};
  CHECK(says(explain_unreachable(usual, ENOENT, false), "install and start Docker"));
  CHECK(says(explain_unreachable(usual, ENOENT, true),
             "-v /var/run/docker.sock:/var/run/docker.sock"));
  CHECK(says(explain_unreachable(usual, EACCES, false), "usermod -aG docker"));
  CHECK(says(explain_unreachable(usual, EACCES, true), "--group-add"));
  CHECK(says(explain_unreachable(usual, ECONNREFUSED, false), "systemctl start docker"));
  CHECK(says(explain_unreachable({.host = "127.0.0.1", .port = 1}, ECONNREFUSED, false),
             "set DOCKER_HOST"));
  CHECK(says(explain_unreachable(usual, ENOENT, false), "unix:///var/run/docker.sock"));
}

}  // namespace hearth::docker
