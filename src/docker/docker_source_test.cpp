#include "docker/docker_source.h"

#include "tests/support/fake_engine.h"
#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

namespace hearth::docker {
namespace {

using test::answer;

const std::string first_image = "sha256:" + std::string(64, '1');
const std::string second_image = "sha256:" + std::string(64, '2');

struct Fixture {
  Fixture() {
    engine.will_say(test::pong);
    engine.will_say(answer("200 OK", "{}"));                              // /info
    for (int i = 0; i < 2; ++i) engine.will_say(answer("200 OK", "[]"));  // leftovers
    auto host = test::run_task(
        loop, DockerEngine::open({.address = engine.address(), .state_dir = state.path()}));
    blueprint::SandboxConfig config;
    config.name = "box";
    source = std::make_unique<DockerSource>(loop.get_executor(), std::move(host), first_image,
                                            std::move(config), std::vector<blueprint::Mount>(),
                                            [this] { return rebuild(); });
    engine.requests.clear();
  }
  ~Fixture() { test::run_task(loop, source->close()); }

  Task<std::string> rebuild() {
    ++rebuilds;
    asked_before_rebuild = engine.last_request;
    co_return second_image;
  }
  // The engine is asked for users of other containers before each creation, and for a removal
  // after one that failed.
  std::string spawn_failure() try {
    test::run_task(loop, source->spawn());
    return {};
  } catch (const backend::SpawnError& error) {
    return error.what();
  }

  asio::io_context loop{1};
  test::TemporaryDirectory state;
  test::FakeEngine engine{loop};
  std::unique_ptr<DockerSource> source;
  int rebuilds = 0;
  std::string asked_before_rebuild;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("containers are created from the id of an image, and from another once that is gone") {
  Fixture f;
  f.engine.will_say(answer("200 OK", "[]"));
  f.engine.will_say(answer("404 Not Found", R"({"message":"No such image"})"));
  f.engine.will_say(answer("409 Conflict", R"({"message":"enough is known"})"));
  f.engine.will_say(answer("404 Not Found", R"({"message":"No such container"})"));
  CHECK(contains(f.spawn_failure(), "enough is known"));
  CHECK(f.rebuilds == 1);
  CHECK(contains(f.asked_before_rebuild, R"("Image":")" + first_image + '"'));
  CHECK(f.source->order().image == second_image);
  REQUIRE(f.engine.requests.size() >= 3);
  CHECK(contains(f.engine.requests[2], "POST "));
  CHECK(contains(f.engine.requests[2], "/containers/create?name="));
}

TEST_CASE("a new container whose id is none is removed by its name, and no process is killed") {
  // Not "" or "/", which are part of every cgroup's name: if the check were missing, this would
  // have every process of the machine killed.
  for (const char* id : {"../no-such-container", "no-such-container"}) {
    CAPTURE(id);
    Fixture f;
    f.engine.will_say(answer("200 OK", "[]"));
    f.engine.will_say(answer("201 Created", std::string(R"({"Id":")") + id + R"("})"));
    f.engine.will_say(answer("204 No Content", ""));
    CHECK(contains(f.spawn_failure(), "the Docker engine named no new container"));
    test::run_task(f.loop, f.source->close());
    REQUIRE(f.engine.requests.size() == 3);
    CHECK(contains(f.engine.requests[2], "DELETE "));
    CHECK(contains(f.engine.requests[2], "/containers/hearth-"));
  }
}

TEST_CASE("a spawn that fails is told only after its container has ended") {
  Fixture f;
  f.engine.will_say(answer("200 OK", "[]"));
  f.engine.will_say(answer("201 Created", R"({"Id":")" + std::string(64, 'a') + R"("})"));
  f.engine.will_say(answer("500 Internal Server Error", R"({"message":"no attaching"})"));
  f.engine.will_say(answer("409 Conflict", R"({"message":"removal is in progress"})"));
  f.engine.will_say(answer("204 No Content", ""));
  CHECK(contains(f.spawn_failure(), "no attaching"));
  REQUIRE(f.engine.requests.size() == 5);
  CHECK(contains(f.engine.requests[3], "DELETE "));
  CHECK(contains(f.engine.requests[4], "DELETE "));
}

}  // namespace hearth::docker
