// What dead processes left at the engine, and what living ones have there.
#include "docker/docker_source.h"
#include "tests/support/any_backend.h"
#include "tests/support/docker_pool.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace hearth;
using namespace hearth::test;

namespace {

// A process of the same installation that makes a container and dies without a word.
void leave_a_container(const std::filesystem::path& state, const std::string& tag, bool started) {
  const pid_t child = ::fork();
  if (child == 0) {
    asio::io_context loop(1);
    const auto host = run_task(loop, docker::DockerEngine::open(docker_host_options(state)));
    host->shown_tools().directory_of({{"left", "x = 1"}});
    docker::ContainerOrder order;
    order.image = tag;
    order.config = docker_config("left");
    order.seccomp_profile = host->seccomp_profile();
    order.labels = host->labels("left");
    const auto created = run_task(
        loop, host->client().call({.method = "POST",
                                   .path = "/containers/create?name=" + host->unique_name(),
                                   .body = docker::container_body(order, 0x78000000)}));
    const std::string id(created.body.at("Id").as_string());
    if (started)
      run_task(loop,
               host->client().call({.method = "POST", .path = "/containers/" + id + "/start"}));
    ::_exit(0);  // no destructor, as after SIGKILL
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

}  // namespace

TEST_CASE(
    "A28: what a dead process left is removed at the next start, what a living one has is not") {
  DockerPool living({docker_config("left")});
  run_task(living.loop, living.pool.startup({"left"}));
  const std::string tag = living.tag_of("left");
  const std::size_t own = containers_with(living.owner()).size();
  REQUIRE(own == 1);
  SUBCASE("created only") { leave_a_container(living.state.path(), tag, false); }
  SUBCASE("running") { leave_a_container(living.state.path(), tag, true); }
  REQUIRE(containers_with(living.owner()).size() == 2);
  REQUIRE(docker::ShownTools::instances(living.state.path()).size() == 1);

  const TemporaryDirectory elsewhere;
  leave_a_container(elsewhere.path(), tag, false);
  const std::string stranger = std::string(docker::owner_label) + '=' +
                               os::read_file(elsewhere.path() / "docker" / "owner", 100);

  asio::io_context loop(1);
  {
    const auto next =
        run_task(loop, docker::DockerEngine::open(docker_host_options(living.state.path())));
    CHECK(containers_with(living.owner()).size() == 1);
    CHECK(docker::ShownTools::instances(living.state.path()).empty());
    CHECK(containers_with(stranger).size() == 1);  // another installation's to remove
  }
  pool::Lease lease = living.checkout({}, "left");
  CHECK(living.turn(lease, "print('well')").stdout_text == "well\n");
  {
    const auto its_own =
        run_task(loop, docker::DockerEngine::open(docker_host_options(elsewhere.path())));
    CHECK(containers_with(stranger).empty());
  }
  // Nor are the locks of the dead left.
  std::size_t locks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(living.state.path() / "docker"))
    locks += entry.path().filename().string().starts_with("instance-") ? 1 : 0;
  CHECK(locks == 1);
}

TEST_CASE(
    "a name of an installation that is none is refused, not shared with others that lost theirs") {
  const TemporaryDirectory state;
  std::filesystem::create_directory(state.path() / "docker");
  state.write("docker/owner", "");
  asio::io_context loop(1);
  CHECK_THROWS_WITH_AS(
      run_task(loop, docker::DockerEngine::open(docker_host_options(state.path()))),
      doctest::Contains("does not name an installation"), Error);
}
