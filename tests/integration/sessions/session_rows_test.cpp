// The lifecycle of sessions, row by row. This file becomes two programs, one for each store.
#include "pool/errors.h"
#include "tests/support/held_turn.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

using namespace hearth;
using namespace std::chrono_literals;
using session::ResumeSource;
using store::SessionState;
using test::Disk;
using test::HeldTurn;
using test::OpenSessions;

namespace {

bool is_gone(OpenSessions& sessions, const std::string& id) {
  try {
    sessions.state(id);
    return false;
  } catch (const session::SessionGone&) {
    return true;
  }
}

// Runs `work` in a process that is then killed as by kill -9.
template <typename Work>
void in_killed_process(const Disk& disk, Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Not destroyed: nothing is put in order.
    auto* sessions = new OpenSessions(disk);
    work(*sessions);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("A1: a session has a process in every state but cold") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.create();
  CHECK(sessions.state(id) == SessionState::warm);
  CHECK(sessions.world.alive == 1);
  {
    const HeldTurn turn(sessions, id);
    CHECK(sessions.state(id) == SessionState::running);
    CHECK(sessions.world.alive == 1);
  }
  CHECK(sessions.state(id) == SessionState::waiting);
  CHECK(sessions.world.alive == 1);
  sessions.run(sessions->pause(id, "ann"));
  CHECK(sessions.state(id) == SessionState::cold);
  CHECK(sessions.world.alive == 0);
}

TEST_CASE("A2: only the transitions of the picture are allowed") {
  using enum SessionState;
  const std::vector<std::pair<SessionState, SessionState>> allowed{
      {cold, warming}, {warming, warm},    {warming, cold},    {warm, running},
      {warm, cold},    {running, waiting}, {waiting, running}, {waiting, cold}};
  for (const SessionState from : {cold, warming, warm, waiting, running})
    for (const SessionState to : {cold, warming, warm, waiting, running}) {
      const bool is_listed =
          std::find(allowed.begin(), allowed.end(), std::pair{from, to}) != allowed.end();
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      CHECK(session::is_allowed(from, to) == is_listed);
    }
}

TEST_CASE("A2: a sandbox that cannot be made leaves no session, and no place taken") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 1});
  sessions.world.trouble = [](const std::string& step) -> Task<> {
    if (step == "lease") throw Error("no sandbox today");
    co_return;
  };
  for (int times = 0; times < 3; ++times) CHECK_THROWS_AS(sessions.create(), Error);
  CHECK(sessions->stats().total == 0);
  sessions.world.trouble = {};
  CHECK(sessions.state(sessions.create()) == SessionState::warm);
}

TEST_CASE("A3: of a cold session a record and a snapshot are left") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used();
  CHECK(sessions.run(sessions->pause(id, "ann")).generation == 1);
  CHECK(sessions.run(sessions.store().find(id))->state == SessionState::cold);
  CHECK(std::filesystem::exists(disk.snapshots() / id / "1" / "workspace.tar.zst"));
  CHECK(std::filesystem::exists(disk.snapshots() / id / "1" / "manifest.ndjson"));
}

TEST_CASE("A4: the sweep ends waiting sessions, and none that is warm or running") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string waiting = sessions.used();
  const std::string running = sessions.used();
  const std::string warm = sessions.create();
  const HeldTurn turn(sessions, running);
  sessions.pass(1h);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(waiting) == SessionState::cold);
  CHECK(sessions.state(running) == SessionState::running);
  CHECK(sessions.state(warm) == SessionState::warm);
}

TEST_CASE("A5: A6: a create at capacity, cold sessions counted, makes one give way") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 3});
  const std::string first = sessions.used();
  const std::string second = sessions.used();
  for (const std::string& id : {first, second}) sessions.run(sessions->pause(id, "ann"));
  sessions.create();
  CHECK_FALSE(is_gone(sessions, first));  // three of three
  sessions.create();
  CHECK(is_gone(sessions, first));
  CHECK_FALSE(is_gone(sessions, second));
  CHECK(sessions->stats().total == 3);
}

TEST_CASE(
    "A7: A27: an evicted cold session is deleted with its snapshot, and says that it is gone") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 1});
  const std::string id = sessions.used();
  sessions.run(sessions->pause(id, "ann"));
  sessions.create();
  CHECK_FALSE(std::filesystem::exists(disk.snapshots() / id));
  CHECK_FALSE(sessions.run(sessions.store().find(id)));
  try {
    sessions.turn(id, "read a");
    FAIL("it looks intact");
  } catch (const session::SessionGone& gone) {
    CHECK(gone.reason == "evicted to make room");
  }
  CHECK_THROWS_AS(sessions.run(sessions->get(id, "eve")), session::SessionNotFound);
}

TEST_CASE("A8: A26: an evicted warm session that has an identity is paused, not left dangling") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 2});
  const std::string waiting = sessions.used();
  const std::string warm = sessions.create({.files = {{"given", "text"}}});
  sessions.create();
  CHECK(sessions.state(warm) == SessionState::cold);
  CHECK(sessions.state(waiting) == SessionState::waiting);  // although it was used earlier
  const session::RunAnswer answer = sessions.turn(warm, "read given");
  CHECK(answer.result.stdout_text == "text");
  CHECK(answer.resumed->source == ResumeSource::snapshot);
}

TEST_CASE(
    "A9: an evicted waiting session is persisted, killed and cold, and resumes with its files") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 2});
  const std::string first = sessions.used("write a one");
  const std::string second = sessions.used("write a two");
  sessions.create();
  CHECK(sessions.state(first) == SessionState::cold);
  CHECK(sessions.world.alive == 2);
  CHECK(sessions.state(second) == SessionState::waiting);
  const session::RunAnswer answer = sessions.turn(first, "read a");
  CHECK(answer.result.stdout_text == "one");
  CHECK(answer.resumed->source == ResumeSource::snapshot);
}

TEST_CASE("A10: a create fails when all sessions are running") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 1});
  const std::string id = sessions.create();
  const HeldTurn turn(sessions, id);
  CHECK_THROWS_AS(sessions.create(), pool::CapacityReached);
  CHECK(sessions->stats().total == 1);
  CHECK(sessions.state(id) == SessionState::running);
}

TEST_CASE("A11: of one state the least recently used gives way, one for each create") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 3});
  std::vector<std::string> ids{sessions.used(), sessions.used(), sessions.used()};
  sessions.turn(ids[0], "nothing");
  const auto cold = [&] { return sessions->stats().cold; };
  sessions.create();
  CHECK(sessions.state(ids[1]) == SessionState::cold);
  CHECK(cold() == 1);
  // The one that was paused gives its place, and the warm one is the next to be paused.
  sessions.used();
  CHECK(is_gone(sessions, ids[1]));
  CHECK(sessions.state(ids[0]) == SessionState::waiting);
  CHECK(sessions.state(ids[2]) == SessionState::waiting);
  CHECK(cold() == 1);
  CHECK(sessions->stats().total == 4);  // what was paused last may still be resumed
}

TEST_CASE("A12: a session whose mark the store has not seen yet does not give way") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_live = 2});
  const std::string first = sessions.used();
  const std::string second = sessions.used();
  const HeldTurn turn(sessions, first);
  sessions.create();
  CHECK(sessions.state(first) == SessionState::running);
  CHECK(sessions.state(second) == SessionState::cold);
}

TEST_CASE("a session that comes to life takes the place of an idle one when too many are live") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_live = 2});
  const std::string first = sessions.used("write a one");
  const std::string second = sessions.used();
  const std::string third = sessions.used();
  CHECK(sessions.state(first) == SessionState::cold);
  sessions.turn(first, "read a");
  CHECK(sessions.state(second) == SessionState::cold);
  CHECK(sessions.state(third) == SessionState::waiting);
  CHECK(sessions.world.most_alive == 2);
}

TEST_CASE("a session that needs memory which idle ones hold takes their place") {
  const Disk disk;
  OpenSessions sessions(disk);
  sessions.world.most_memory = 2;
  const std::string first = sessions.used();
  const std::string second = sessions.used();
  sessions.create();
  CHECK(sessions.state(first) == SessionState::cold);
  CHECK(sessions.state(second) == SessionState::waiting);
  sessions.world.most_memory = 0;
  CHECK_THROWS_AS(sessions.create(), pool::CapacityReached);
  CHECK(sessions.world.alive == 0);  // all that could give way has
}

TEST_CASE(
    "A13: A16: the sweep comes every 60 seconds, and starts and stops as often as one likes") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string id = sessions.used();
  const auto after = [&](std::chrono::milliseconds time) {
    sessions.pass(time);
    while (sessions.loop().poll() > 0) {
    }
    return sessions.run(sessions.store().marked()), sessions->stats().waiting;
  };
  sessions->stop_idle_sweep();
  CHECK(after(120s) == 1);
  sessions->start_idle_sweep();
  sessions->start_idle_sweep();
  CHECK(after(59'999ms) == 1);
  sessions.pass(1ms);
  while (sessions->stats().waiting > 0) sessions.loop().run_one();
  sessions.turn(id, "nothing");
  sessions->stop_idle_sweep();
  sessions->stop_idle_sweep();
  CHECK(after(600s) == 1);
  CHECK(session::SessionOptions{}.sweep_interval == 60s);
}

TEST_CASE("A14: a session is idle for too long only after the last millisecond of its time-out") {
  CHECK(session::SessionOptions{}.idle_timeout == 1'800'000ms);
  for (const auto& [idle, state] : {std::pair{999ms, SessionState::waiting},
                                    {1000ms, SessionState::waiting},
                                    {1001ms, SessionState::cold}}) {
    const Disk disk;
    OpenSessions sessions(disk, {.idle_timeout = 1000ms});
    const std::string id = sessions.used();
    sessions.pass(idle);
    sessions.run(sessions->sweep());
    CHECK(sessions.state(id) == state);
  }
}

TEST_CASE("A15: the sweep persists, kills, marks the record cold and pauses") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string id = sessions.used("write a swept");
  sessions.pass(1001ms);
  sessions.run(sessions->sweep());
  CHECK(std::filesystem::exists(disk.snapshots() / id / "1"));
  CHECK(sessions.world.alive == 0);
  CHECK(sessions.run(sessions.store().find(id))->state == SessionState::cold);
  CHECK(session::public_state(sessions.state(id)) == session::PublicState::paused);
  CHECK(sessions.turn(id, "read a").result.stdout_text == "swept");
}

TEST_CASE("A17: without a setting there may be 1000 sessions") {
  CHECK(session::SessionOptions{}.max_sandboxes == 1000);
  const Disk disk;
  const OpenSessions sessions(disk);
}

TEST_CASE(
    "A18: a session is running from the moment a message arrives, however slow the store is") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string id = sessions.used();
  sessions.pass(2000ms);  // overdue
  const HeldTurn turn(sessions, id);
  CHECK(sessions.state(id) == SessionState::running);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::running);
  CHECK(sessions.world.alive == 1);
}

TEST_CASE(
    "A19: A20: A27: after a kill all sessions are cold, counted, and resume from their snapshots") {
  const Disk disk;
  std::vector<std::string> ids;
  const int child_ids = ::memfd_create("ids", 0);
  in_killed_process(disk, [&](OpenSessions& sessions) {
    for (int number = 0; number < 5; ++number) {
      const std::string id = sessions.used("write a kept");
      if (number < 4) {
        sessions.run(sessions->pause(id, "ann"));
        sessions.turn(id, "write a lost");
      }
      REQUIRE(::write(child_ids, id.data(), id.size()) == static_cast<ssize_t>(id.size()));
    }
    sessions.run(sessions.store().marked());
  });
  ::lseek(child_ids, 0, SEEK_SET);
  std::string id(36, ' ');
  while (::read(child_ids, id.data(), id.size()) == static_cast<ssize_t>(id.size()))
    ids.push_back(id);
  ::close(child_ids);
  REQUIRE(ids.size() == 5);

  OpenSessions sessions(disk);
  CHECK(sessions.marked_cold == 5);
  CHECK(sessions->stats().cold == 5);
  CHECK(sessions->stats().total == 5);
  const session::RunAnswer kept = sessions.turn(ids[0], "read a");
  CHECK(kept.result.stdout_text == "kept");
  CHECK(kept.resumed->source == ResumeSource::snapshot);
  CHECK(kept.resumed->work_lost);
  const session::RunAnswer fresh = sessions.turn(ids[4], "read a");
  CHECK(fresh.result.stdout_text == "(none)");
  CHECK(fresh.resumed->source == ResumeSource::fresh);
  CHECK(fresh.resumed->work_lost);
}

TEST_CASE(
    "A21: A22: A23: the nine numbers are consistent, and tell how resumes found the process") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 7});
  sessions.world.spares = 2;
  const std::string first = sessions.used();
  const std::string second = sessions.used();
  sessions.create();
  CHECK(sessions.run(sessions->resume(first, "ann")).source == ResumeSource::warm);
  sessions.run(sessions->pause(first, "ann"));
  CHECK(sessions.run(sessions->resume(first, "ann")).source == ResumeSource::snapshot);
  sessions.run(sessions->pause(first, "ann"));
  sessions.turn(first, "nothing");
  sessions.run(sessions->pause(second, "ann"));
  CHECK(to_json(sessions->stats()) ==
        R"({"total":5,"cold":1,"warming":0,"warm":3,"waiting":1,"running":0,)"
        R"("maxCapacity":7,"resumeWarmHits":1,"resumeColdHits":2})");
  const HeldTurn turn(sessions, first);
  CHECK(sessions->stats().running == 1);
  CHECK(sessions->stats().total == 5);
}
