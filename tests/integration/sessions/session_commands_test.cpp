// Background commands of sessions. This file becomes two programs, one for each store.
#include "pool/errors.h"
#include "tests/support/held_turn.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace hearth;
using namespace std::chrono_literals;
using session::Background;
using session::EndAction;
using session::ResumeSource;
using store::SessionState;
using test::Disk;
using test::HeldTurn;
using test::OpenSessions;

namespace {

std::string start(OpenSessions& sessions, const std::string& id) {
  sessions.pass(1ms);
  return sessions.run(sessions->start(id, "ann", {.shell = "serve"})).command.execution_id;
}

std::vector<std::string> running(OpenSessions& sessions, const std::string& id) {
  return sessions.run(sessions->get(id, "ann")).running;
}

// All commands of the session exit by themselves.
void let_commands_exit(OpenSessions& sessions, const std::string& id) {
  sessions.run(sessions->use(id, "ann", [](session::LiveSandbox& sandbox) -> Task<> {
    dynamic_cast<test::FakeSandbox&>(sandbox).end_commands();
    co_return;
  }));
  while (!running(sessions, id).empty()) {
    sessions.loop().restart();
    sessions.loop().run_one();
  }
}

// Everything that can go on without time passing has.
void settle(OpenSessions& sessions) {
  sessions.loop().restart();
  while (sessions.loop().poll() > 0) {
  }
}

}  // namespace

TEST_CASE("a background command goes on beside turns, and a restart spares it") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("set x 1");
  const std::string command = start(sessions, id);
  CHECK(running(sessions, id) == std::vector<std::string>{command});
  sessions.turn(id, "write a 1");
  sessions.run(sessions->restart(id, "ann"));
  CHECK(sessions.turn(id, "get x").result.stdout_text == "(none)");
  CHECK(running(sessions, id) == std::vector<std::string>{command});
  let_commands_exit(sessions, id);
  CHECK(sessions.state(id) == SessionState::waiting);
}

TEST_CASE("a background command starts beside a turn, which is not refused for it") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.create();
  HeldTurn turn(sessions, id);
  const std::string command = start(sessions, id);
  const std::vector<std::string> both = running(sessions, id);
  CHECK(both.size() == 2);
  CHECK(both.back() == command);
  turn.release();
  CHECK(sessions.run(sessions->run(id, "ann", {.script = "nothing"}, {}, session::WhenBusy::refuse))
            .result.verdict == execution::Verdict::ok);
}

TEST_CASE("a background command resumes a paused session, and only its owner may start one") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used();
  sessions.run(sessions->pause(id, "ann"));
  CHECK_THROWS_AS(sessions.run(sessions->start(id, "eve", {.shell = "serve"})),
                  session::SessionNotFound);
  CHECK(sessions.run(sessions->commands(id, "ann")).empty());
  CHECK(sessions.state(id) == SessionState::cold);  // to look resumes nothing
  const session::StartAnswer answer = sessions.run(sessions->start(id, "ann", {.shell = "serve"}));
  CHECK(answer.resumed->source == ResumeSource::snapshot);
  CHECK(sessions.state(id) == SessionState::waiting);
}

TEST_CASE("a running background command counts as use, and idle time begins when it ends") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string id = sessions.used();
  start(sessions, id);
  sessions.pass(1h);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::waiting);
  let_commands_exit(sessions, id);
  sessions.pass(1000ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::waiting);
  sessions.pass(1ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::cold);
}

TEST_CASE("a session that was resumed for its files alone is idle when they are used no more") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 1000ms});
  const std::string id = sessions.used("write a 1");
  sessions.run(sessions->pause(id, "ann"));
  sessions.run(sessions->use(id, "ann", [](session::LiveSandbox&) -> Task<> { co_return; }));
  CHECK(sessions.state(id) == SessionState::waiting);
  sessions.pass(1001ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::cold);
}

TEST_CASE("a pause refuses background commands, waits for them or ends them, as it is told") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  const std::string command = start(sessions, id);
  CHECK_THROWS_AS(sessions.run(sessions->pause(id, "ann")), session::SessionBusy);
  CHECK(running(sessions, id) == std::vector<std::string>{command});
  SUBCASE("wait: turns go on meanwhile") {
    TaskGroup pause(sessions.loop().get_executor());
    pause.start("a pause", [](OpenSessions& on, std::string name) -> Task<> {
      co_await on->pause(std::move(name), "ann", Background::wait);
    }(sessions, id));
    settle(sessions);
    CHECK(sessions.state(id) == SessionState::waiting);
    CHECK(sessions.turn(id, "write a 2").result.verdict == execution::Verdict::ok);
    let_commands_exit(sessions, id);
    sessions.run(pause.drained());
    CHECK(sessions.turn(id, "read a").result.stdout_text == "2");
  }
  SUBCASE("wait: a caller that gives up leaves the session as it was") {
    TaskGroup pause(sessions.loop().get_executor());
    pause.start("a pause", [](OpenSessions& on, std::string name) -> Task<> {
      co_await on->pause(std::move(name), "ann", Background::wait);
    }(sessions, id));
    settle(sessions);
    sessions.run(pause.close());
    let_commands_exit(sessions, id);
    settle(sessions);
    CHECK(sessions.state(id) == SessionState::waiting);
  }
  SUBCASE("end") {
    const session::PauseAnswer answer = sessions.run(sessions->pause(id, "ann", Background::end));
    CHECK(answer.ended_executions == std::vector<std::string>{command});
    CHECK(running(sessions, id).empty());
    CHECK(sessions.turn(id, "read a").result.stdout_text == "1");
  }
  CHECK(sessions.world.broken.empty());
}

TEST_CASE("A4: A9: an eviction takes sessions with background commands last, and ends these") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_live = 2});
  const std::string serving = sessions.used("write a 1");
  start(sessions, serving);
  const std::string other = sessions.used();
  sessions.turn(sessions.create(), "nothing");
  CHECK(sessions.state(other) == SessionState::cold);  // although it was used later
  CHECK(running(sessions, serving).size() == 1);
  {
    // Nothing else can give way: what runs never does.
    const HeldTurn turn(
        sessions, sessions.run(sessions->list({.state = SessionState::waiting})).back().record.id);
    sessions.create();
    CHECK(sessions.state(serving) == SessionState::cold);
  }
  CHECK(sessions.world.broken.empty());
  const session::RunAnswer answer = sessions.turn(serving, "read a");
  CHECK(answer.result.stdout_text == "1");
  CHECK_FALSE(answer.resumed->work_lost);
}

TEST_CASE("the time to live ends background commands, by deletion or by a pause") {
  const Disk disk;
  OpenSessions sessions(disk);
  session::CreateRequest request{.time_to_live = 1000ms};
  EndAction action = EndAction::pause;
  SUBCASE("pause") {}
  SUBCASE("delete") { action = EndAction::remove; }
  request.details.on_expire = action;
  const std::string id = sessions.create(std::move(request));
  start(sessions, id);
  sessions.pass(1001ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.world.alive == 0);
  if (action == EndAction::pause) {
    CHECK(sessions.state(id) == SessionState::cold);
  } else {
    CHECK_THROWS_AS(sessions.state(id), session::SessionGone);
  }
}

TEST_CASE("a session whose time to live has passed is gone for turns before the sweep comes") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.create({.time_to_live = 1000ms});
  sessions.pass(1000ms);
  CHECK_THROWS_AS(sessions.turn(id, "nothing"), session::SessionGone);
  CHECK_THROWS_AS(start(sessions, id), session::SessionGone);
  CHECK_THROWS_AS(sessions.run(sessions->resume(id, "ann")), session::SessionGone);
}

TEST_CASE("background commands that run when a process ends in good order are paused for") {
  const Disk disk;
  std::string id;
  {
    OpenSessions sessions(disk);
    id = sessions.used("write a 1");
    start(sessions, id);
  }
  OpenSessions sessions(disk);
  CHECK(sessions.marked_cold == 0);
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "1");
  CHECK_FALSE(answer.resumed->work_lost);
  CHECK(running(sessions, id).empty());
}

TEST_CASE("a sandbox that dies takes its background commands with it") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used();
  start(sessions, id);
  sessions.turn(id, "crash");
  CHECK(sessions.state(id) == SessionState::cold);
  CHECK(running(sessions, id).empty());
  sessions.turn(id, "nothing");
  CHECK(sessions.run(sessions->pause(id, "ann")).ended_executions.empty());
}

TEST_CASE("a call that is given up while it waits for a turn has done nothing") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("set x 1");
  HeldTurn turn(sessions, id);
  TaskGroup waiting(sessions.loop().get_executor());
  const auto wait_in_line = [&](auto call) {
    waiting.start("a call", [](OpenSessions& on, std::string name, auto what) -> Task<> {
      co_await what(on, name);
    }(sessions, id, call));
  };
  wait_in_line([](OpenSessions& on, const std::string& name) { return on->remove(name, "ann"); });
  wait_in_line([](OpenSessions& on, const std::string& name) -> Task<> {
    co_await on->restart(name, "ann");
  });
  wait_in_line(
      [](OpenSessions& on, const std::string& name) -> Task<> { co_await on->pause(name, "ann"); });
  settle(sessions);
  sessions.run(waiting.close());
  turn.release();
  settle(sessions);
  CHECK(sessions.state(id) == SessionState::waiting);
  CHECK(sessions.turn(id, "get x").result.stdout_text == "1");
}
