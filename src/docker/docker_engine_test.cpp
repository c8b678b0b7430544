#include "docker/docker_engine.h"

#include "tests/support/fake_engine.h"
#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

namespace hearth::docker {

TEST_CASE("a user that a container of another process has is not given to a new one") {
  asio::io_context loop(1);
  const test::TemporaryDirectory state;
  test::FakeEngine engine(loop);
  engine.will_say(test::pong);
  engine.will_say(test::answer("200 OK", "{}"));                              // /info
  for (int i = 0; i < 2; ++i) engine.will_say(test::answer("200 OK", "[]"));  // leftovers
  for (int i = 0; i < 2; ++i) engine.will_say(test::answer("200 OK", R"([{"Id":"a"}])"));
  engine.will_say(test::answer("200 OK", "[]"));
  const auto host = test::run_task(
      loop, DockerEngine::open({.address = engine.address(), .state_dir = state.path()}));
  const ContainerUids::Lease user = test::run_task(loop, host->take_uid());
  const std::string label = "hearth.uid%3D" + std::to_string(user.uid());
  REQUIRE(engine.requests.size() == 7);
  CHECK(engine.requests[4].find("hearth.uid%3D") != std::string::npos);
  CHECK(engine.requests[4].find(label) == std::string::npos);
  CHECK(engine.requests[5].find(label) == std::string::npos);
  CHECK(engine.requests[6].find(label) != std::string::npos);
}

TEST_CASE("C27: an engine that cannot limit swap is known to be one") {
  for (const auto& [info, limits_swap] : {std::pair{R"({"SwapLimit":true})", true},
                                          {R"({"SwapLimit":false})", false},
                                          {"{}", true}}) {
    asio::io_context loop(1);
    const test::TemporaryDirectory state;
    test::FakeEngine engine(loop);
    engine.will_say(test::pong);
    engine.will_say(test::answer("200 OK", info));
    for (int i = 0; i < 2; ++i) engine.will_say(test::answer("200 OK", "[]"));  // leftovers
    const auto host = test::run_task(
        loop, DockerEngine::open({.address = engine.address(), .state_dir = state.path()}));
    CHECK(host->limits_swap() == limits_swap);
  }
}

TEST_CASE("what an engine lists is removed only by ids and labels that can be ours") {
  asio::io_context loop(1);
  const test::TemporaryDirectory state;
  test::FakeEngine engine(loop);
  const std::string id(64, 'b');
  const std::string dead(32, 'd');
  const auto listed = [](const std::string& name, const std::string& instance) {
    return R"({"Id":")" + name + R"(","Labels":{"hearth.instance":")" + instance + R"("}})";
  };
  engine.will_say(test::pong);
  engine.will_say(test::answer("200 OK", "{}"));  // /info
  engine.will_say(test::answer("200 OK", '[' + listed("../images/x", dead) + ',' +
                                             listed(id, "x/../../../victim") + ',' +
                                             listed(id, dead) + ']'));
  engine.will_say(test::answer("204 No Content", ""));
  engine.will_say(test::answer("200 OK", "[]"));  // networks
  test::run_task(loop,
                 DockerEngine::open({.address = engine.address(), .state_dir = state.path()}));
  REQUIRE(engine.requests.size() == 5);
  CHECK(engine.requests[3].find("DELETE") == 0);
  CHECK(engine.requests[3].find("/containers/" + id + "?force=1") != std::string::npos);
  CHECK(engine.requests[4].find("/networks?") != std::string::npos);
}

}  // namespace hearth::docker
