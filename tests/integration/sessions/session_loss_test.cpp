// Work that is lost with a process is told, whatever of the store fails on the way. This file
// becomes two programs, one for each store.
#include "base/scope_exit.h"
#include "pool/errors.h"
#include "store/errors.h"
#include "tests/support/faulty_database.h"
#include "tests/support/open_sessions.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>

using namespace hearth;
using store::Durability;
using test::Disk;
using test::OpenSessions;
using test::When;

namespace {

// What of the store fails. Marks always do: they may be lost.
struct Weather {
  bool fails = false;
  bool loses_answers = false;

  test::WrapDatabase wrap() {
    return [this](auto database) {
      return std::make_unique<test::FaultyDatabase>(
          std::move(database), [this](When when, Durability durability) -> Task<> {
            const bool is_mark = durability == Durability::relaxed;
            const bool is_hit = when == When::before ? fails || is_mark : loses_answers;
            if (is_hit) throw store::StoreUnavailable("no luck with the store");
            co_return;
          });
    };
  }
};

// One that was paused, and has been used since.
std::string resumed_session(OpenSessions& sessions) {
  const std::string id = sessions.used("write a kept");
  sessions.run(sessions->pause(id, "ann"));
  sessions.turn(id, "write a lost");
  return id;
}

}  // namespace

TEST_CASE("A20: A27: a lost sandbox that the store did not hear of is told by the next use") {
  const Disk disk;
  Weather weather;
  OpenSessions sessions(disk, {}, weather.wrap());
  const std::string id = resumed_session(sessions);
  weather.fails = true;
  sessions.turn(id, "crash");
  CHECK_THROWS_AS(sessions.turn(id, "read a"), store::StoreUnavailable);
  weather.fails = false;
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "kept");
  CHECK(answer.resumed->work_lost);
}

TEST_CASE("A20: A27: after a kill a turn that no mark was written of is known to be lost") {
  const Disk disk;
  const test::TemporaryDirectory told;
  const std::filesystem::path link = told.path() / "id";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Weather weather;
    auto* sessions = new OpenSessions(disk, {}, weather.wrap());
    std::filesystem::create_symlink(resumed_session(*sessions), link);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));

  OpenSessions sessions(disk);
  CHECK(sessions.marked_cold == 1);
  const session::RunAnswer answer = sessions.turn(std::filesystem::read_symlink(link), "read a");
  CHECK(answer.result.stdout_text == "kept");
  CHECK(answer.resumed->work_lost);
}

TEST_CASE("A27: a session whose pause was recorded without an answer can still lose work") {
  const Disk disk;
  Weather weather;
  OpenSessions sessions(disk, {}, weather.wrap());
  const std::string id = resumed_session(sessions);
  weather.loses_answers = true;
  CHECK_THROWS_AS(sessions.run(sessions->pause(id, "ann")), store::StoreUnavailable);
  weather.loses_answers = false;
  sessions.turn(id, "write a more");
  CHECK(sessions.run(sessions.store().find(id))->state != store::SessionState::cold);
  weather.fails = true;
  sessions.turn(id, "crash");
  weather.fails = false;
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "lost");
  CHECK(answer.resumed->work_lost);
}

TEST_CASE("A27: a loss that a call could not tell because it failed is told by the next") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = resumed_session(sessions);
  sessions.turn(id, "crash");
  sessions.world.trouble = [](const std::string& step) -> Task<> {
    if (step == "run") throw Error("no turn today");
    co_return;
  };
  CHECK_THROWS_AS(sessions.turn(id, "read a"), Error);
  sessions.world.trouble = {};
  SUBCASE("by a turn") {}
  SUBCASE("by a turn after a pause") { sessions.run(sessions->pause(id, "ann")); }
  SUBCASE("by a resume") {
    CHECK(sessions.run(sessions->resume(id, "ann")).work_lost);
    CHECK_FALSE(sessions.turn(id, "read a").resumed);
    return;
  }
  CHECK(sessions.turn(id, "read a").resumed->work_lost);
  CHECK_FALSE(sessions.turn(id, "read a").resumed);
}
