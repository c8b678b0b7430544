// How sessions are used. This file becomes two programs, one for each store.
#include "async/event.h"
#include "async/task_group.h"
#include "pool/errors.h"
#include "tests/support/held_turn.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace hearth;
using namespace std::chrono_literals;
using session::EndAction;
using session::ResumeSource;
using store::SessionState;
using test::Disk;
using test::HeldTurn;
using test::OpenSessions;

namespace {

std::vector<std::string> ids_of(const std::vector<session::SessionView>& views) {
  std::vector<std::string> ids;
  for (const session::SessionView& view : views) ids.push_back(view.record.id);
  return ids;
}

bool is_gone(OpenSessions& sessions, const std::string& id) {
  try {
    sessions.state(id);
    return false;
  } catch (const session::SessionGone&) {
    return true;
  }
}

// Something that uses a session's sandbox until it is told to end.
class HeldUse {
 public:
  HeldUse(OpenSessions& sessions, const std::string& id)
      : sessions_(sessions),
        release_(sessions.loop().get_executor()),
        tasks_(sessions.loop().get_executor()) {
    tasks_.start("a use", use(id));
    while (!is_held_) sessions_.loop().run_one();
  }
  ~HeldUse() { release(); }
  void release() {
    is_released_ = true;
    release_.notify_all();
    sessions_.run(tasks_.drained());
  }
  bool is_over() const { return tasks_.size() == 0; }
  std::optional<session::ResumeAnswer> resumed{};

 private:
  Task<> use(std::string id) {
    resumed = co_await sessions_->use(
        id, "ann", [this](session::LiveSandbox& sandbox) { return hold(sandbox); });
  }
  Task<> hold(session::LiveSandbox& sandbox) {
    is_held_ = true;
    co_await release_.wait_until([this] { return is_released_; });
    if (sandbox.is_gone()) throw Error("the sandbox is gone");
  }

  OpenSessions& sessions_;
  AsyncEvent release_;
  TaskGroup tasks_;
  bool is_held_ = false;
  bool is_released_ = false;
};

}  // namespace

TEST_CASE("any use of a paused session resumes it and says so, and keeps it from the sweep") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_live = 1, .idle_timeout = 1000ms});
  const std::string id = sessions.used("write a 1");
  sessions.run(sessions->pause(id, "ann"));
  CHECK_THROWS_AS(
      sessions.run(sessions->use(id, "eve", [](session::LiveSandbox&) -> Task<> { co_return; })),
      session::SessionNotFound);
  HeldUse use(sessions, id);
  CHECK(sessions.state(id) != SessionState::cold);
  sessions.pass(2000ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) != SessionState::cold);
  CHECK_THROWS_AS(sessions.create(), pool::CapacityReached);  // it does not give way
  sessions.turn(id, "write a 2");                             // turns run beside it
  use.release();
  CHECK(use.resumed->source == ResumeSource::snapshot);
  sessions.pass(999ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::waiting);  // idle since the end of the use
  sessions.pass(2ms);
  sessions.run(sessions->sweep());
  CHECK(sessions.state(id) == SessionState::cold);
  CHECK(sessions.turn(id, "read a").result.stdout_text == "2");
}

TEST_CASE("a use begins beside a turn that runs, and not beside a pause") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.create();
  HeldTurn turn(sessions, id);
  {
    const HeldUse use(sessions, id);
    CHECK_FALSE(use.resumed);
  }
  turn.release();
  TaskGroup pause(sessions.loop().get_executor());
  pause.start("a pause", [](OpenSessions& on, std::string name) -> Task<> {
    co_await on->pause(std::move(name), "ann");
  }(sessions, id));
  HeldUse use(sessions, id);
  CHECK(pause.size() == 0);  // it came after the pause, and resumed the session again
  use.release();
  CHECK(use.resumed->source == ResumeSource::snapshot);
}

TEST_CASE("a pause refuses what uses the sandbox, waits for it or ends it, as the caller asks") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  HeldUse use(sessions, id);
  CHECK_THROWS_AS(sessions.run(sessions->pause(id, "ann")), session::SessionBusy);
  SUBCASE("wait") {
    TaskGroup pause(sessions.loop().get_executor());
    pause.start("a pause", [](OpenSessions& on, std::string name) -> Task<> {
      co_await on->pause(std::move(name), "ann", session::Background::wait);
    }(sessions, id));
    while (sessions.loop().poll() > 0) {
    }
    CHECK(sessions.state(id) == SessionState::waiting);
    use.release();
    sessions.run(pause.drained());
  }
  SUBCASE("end") {
    sessions.run(sessions->pause(id, "ann", session::Background::end));
    CHECK(sessions.world.alive == 0);
  }
  CHECK(sessions.state(id) == SessionState::cold);
  use.release();
  CHECK(sessions.turn(id, "read a").result.stdout_text == "1");
}

TEST_CASE("an unchanged workspace costs no write, and a change makes a new generation") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  const auto pause = [&] { return sessions.run(sessions->pause(id, "ann")); };
  CHECK(pause().generation == 1);
  sessions.run(sessions->resume(id, "ann"));
  CHECK_FALSE(pause().written);
  sessions.turn(id, "write a 1");
  session::PauseAnswer answer = pause();
  CHECK_FALSE(answer.written);
  CHECK(answer.generation == 1);
  sessions.turn(id, "write a 2");
  answer = pause();
  CHECK(answer.written);
  CHECK(answer.generation == 2);
  sessions.turn(id, "write a 3");
  CHECK(pause().generation == 3);
  // One older generation is kept, in case the latest is damaged.
  CHECK_FALSE(std::filesystem::exists(disk.snapshots() / id / "1"));
  CHECK(std::filesystem::exists(disk.snapshots() / id / "2"));
}

TEST_CASE("a damaged or missing snapshot is an error that names the generation to fall back to") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  sessions.run(sessions->pause(id, "ann"));
  sessions.turn(id, "write a 2");
  sessions.run(sessions->pause(id, "ann"));
  const auto place = disk.snapshots() / id / "2";
  SUBCASE("a byte of the archive") {
    std::fstream(place / "workspace.tar.zst", std::ios::in | std::ios::out | std::ios::binary)
        .seekp(20)
        .put('!');
  }
  SUBCASE("a byte of the manifest") {
    std::fstream(place / "manifest.ndjson", std::ios::in | std::ios::out | std::ios::binary)
        .seekp(20)
        .put('!');
  }
  SUBCASE("an archive cut short") { std::filesystem::resize_file(place / "workspace.tar.zst", 30); }
  SUBCASE("no directory") { std::filesystem::remove_all(place); }
  try {
    sessions.turn(id, "read a");
    FAIL("it was resumed");
  } catch (const session::SnapshotDamaged& error) {
    CHECK(error.generation == 2);
    CHECK(error.fallback == 1);
  }
  CHECK(sessions.state(id) == SessionState::cold);
  CHECK(sessions.world.alive == 0);
  CHECK(sessions.run(sessions->resume(id, "ann", 1)).generation == 1);
  CHECK(sessions.turn(id, "read a").result.stdout_text == "1");
  CHECK(sessions.run(sessions->pause(id, "ann")).generation == 3);
  CHECK(sessions.run(sessions->resume(id, "ann", 0)).source == ResumeSource::fresh);
  CHECK(sessions.turn(id, "read a").result.stdout_text == "(none)");
}

TEST_CASE("a second turn waits for the first, or is refused if it wants that") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.create();
  HeldTurn turn(sessions, id);
  CHECK_THROWS_AS(
      sessions.run(sessions->run(id, "ann", {.script = "nothing"}, {}, session::WhenBusy::refuse)),
      session::SessionBusy);
  TaskGroup second(sessions.loop().get_executor());
  second.start("a second turn", [](OpenSessions& on, std::string name) -> Task<> {
    co_await on->run(std::move(name), "ann", {.script = "write a second"});
  }(sessions, id));
  turn.release();
  sessions.run(second.drained());
  CHECK(sessions.turn(id, "read a").result.stdout_text == "second");
}

TEST_CASE("a sandbox that dies costs the work since the last pause, and the next use says so") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a kept");
  sessions.run(sessions->pause(id, "ann"));
  sessions.turn(id, "write a lost");
  CHECK(sessions.turn(id, "crash").result.verdict == execution::Verdict::lost);
  CHECK(sessions.state(id) == SessionState::cold);
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "kept");
  CHECK(answer.resumed->work_lost);
  sessions.run(sessions->pause(id, "ann"));
  CHECK_FALSE(sessions.turn(id, "read a").resumed->work_lost);
}

TEST_CASE("a deleted session is gone at once, with its process, record and snapshots") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used();
  sessions.run(sessions->pause(id, "ann"));
  sessions.turn(id, "nothing");
  CHECK_THROWS_AS(sessions.run(sessions->remove(id, "eve")), session::SessionNotFound);
  sessions.run(sessions->remove(id, "ann"));
  CHECK(is_gone(sessions, id));
  CHECK(sessions.world.alive == 0);
  CHECK_FALSE(std::filesystem::exists(disk.snapshots() / id));
  CHECK(sessions->stats().total == 0);
  sessions.pass(24h + 1ms);
  sessions.run(sessions->sweep());
  CHECK_THROWS_AS(sessions.state(id), session::SessionNotFound);
}

TEST_CASE("snapshots of a removed session go at the next start, those of an unknown one stay") {
  const Disk disk;
  const auto unknown = disk.snapshots() / "ses_00112233445566778899aabbccddeeff";
  std::string id;
  {
    OpenSessions sessions(disk);
    id = sessions.used("write a kept");
    sessions.run(sessions->pause(id, "ann"));
    std::filesystem::copy(disk.snapshots() / id, unknown, std::filesystem::copy_options::recursive);
    sessions.run(sessions->remove(id, "ann"));
  }
  std::filesystem::create_directory(disk.snapshots() / id);  // as if a crash came first
  OpenSessions sessions(disk);
  CHECK_FALSE(std::filesystem::exists(disk.snapshots() / id));
  CHECK(std::filesystem::exists(unknown / "1" / "workspace.tar.zst"));
}

TEST_CASE("an idle session that shall be deleted is, and one with a time-out of its own has that") {
  const Disk disk;
  OpenSessions sessions(disk, {.idle_timeout = 10'000ms});
  session::CreateRequest deleted;
  deleted.details.on_idle = EndAction::remove;
  deleted.details.idle_timeout_ms = 1000;
  const std::string id = sessions.create(std::move(deleted));
  sessions.turn(id, "nothing");
  const std::string other = sessions.used();
  sessions.pass(1001ms);
  sessions.run(sessions->sweep());
  CHECK(is_gone(sessions, id));
  CHECK(sessions.state(other) == SessionState::waiting);
}

TEST_CASE("the time to live ends a session even while it runs, by deletion or by a pause") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string deleted = sessions.create({.time_to_live = 1000ms});
  session::CreateRequest request{.time_to_live = 1000ms};
  request.details.on_expire = EndAction::pause;
  const std::string paused = sessions.create(std::move(request));
  sessions.turn(paused, "write a 1");
  {
    HeldTurn turn(sessions, deleted);
    sessions.pass(1001ms);
    TaskGroup sweep(sessions.loop().get_executor());
    sweep.start("sweep", sessions->sweep());
    turn.release();
    sessions.run(sweep.drained());
  }
  CHECK(is_gone(sessions, deleted));
  CHECK(sessions.state(paused) == SessionState::cold);
  CHECK(sessions.turn(paused, "read a").result.stdout_text == "1");
  sessions.run(sessions->sweep());
  CHECK(sessions.state(paused) == SessionState::waiting);  // it has no time to live any more
}

TEST_CASE(
    "a new session may begin with the workspace of another's snapshot, and both go on apart") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  CHECK_THROWS_AS(sessions.create({.from = session::SnapshotOrigin{id}}), Error);
  sessions.run(sessions->pause(id, "ann"));
  const std::string copy = sessions.create({.from = session::SnapshotOrigin{id}});
  sessions.turn(id, "write a 2");
  CHECK(sessions.turn(copy, "read a").result.stdout_text == "1");
  CHECK_THROWS_AS(sessions.create({.owner = "eve", .from = session::SnapshotOrigin{id}}),
                  session::SessionNotFound);
}

TEST_CASE("labels, env, times and network can be changed later, and live with the session") {
  const Disk disk;
  std::string id;
  {
    OpenSessions sessions(disk);
    session::CreateRequest request;
    request.details.labels = {{"user", "7"}, {"old", "x"}};
    request.details.env = {{"TOKEN", "abc"}};
    id = sessions.create(std::move(request));
    session::SessionPatch patch;
    patch.labels = {{"old", std::nullopt}, {"new", "y"}};
    patch.env = {{"MORE", "1"}};
    patch.time_to_live.emplace(1h);
    patch.on_idle = EndAction::remove;
    const session::SessionView view = sessions.run(sessions->update(id, "ann", patch));
    CHECK(*view.record.expires_at == sessions.now() + 3'600'000);
    CHECK_THROWS_AS(sessions.run(sessions->update(id, "eve", {})), session::SessionNotFound);
  }
  OpenSessions sessions(disk);
  const session::SessionView view = sessions.run(sessions->get(id, "ann"));
  CHECK(view.details.labels == std::map<std::string, std::string>{{"user", "7"}, {"new", "y"}});
  CHECK(view.details.on_idle == EndAction::remove);
  sessions.turn(id, "nothing");
  CHECK(sessions.world.leases.at(0).env ==
        std::map<std::string, std::string>{{"TOKEN", "abc"}, {"MORE", "1"}});
}

TEST_CASE(
    "A15: A20: a process that ends in good order pauses its sessions, and the next finds them") {
  const Disk disk;
  std::string id;
  {
    OpenSessions sessions(disk);
    id = sessions.used("write a 1");
  }
  OpenSessions sessions(disk);
  CHECK(sessions.marked_cold == 0);
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "1");
  CHECK_FALSE(answer.resumed->work_lost);
  CHECK(ids_of(sessions.run(sessions->list({.owner = "ann"}))) == std::vector<std::string>{id});
  CHECK(sessions.run(sessions->list({.owner = "eve"})).empty());
  CHECK(ids_of(sessions.run(sessions->list({.state = SessionState::waiting}))) ==
        std::vector<std::string>{id});
}

TEST_CASE("a pause that fails leaves the session as it was") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("write a 1");
  sessions.world.trouble = [](const std::string& step) -> Task<> {
    if (step == "read an entry") throw Error("the sandbox stutters");
    co_return;
  };
  CHECK_THROWS_AS(sessions.run(sessions->pause(id, "ann")), Error);
  sessions.world.trouble = {};
  CHECK(sessions.state(id) == SessionState::waiting);
  CHECK(sessions.turn(id, "read a").result.stdout_text == "1");
  sessions.run(sessions->pause(id, "ann"));
  CHECK(sessions.turn(id, "read a").result.stdout_text == "1");
}

TEST_CASE("variables come back with the snapshot, and those that could not be kept are named") {
  const Disk disk;
  std::string id;
  {
    OpenSessions sessions(disk, {.variables = {.max_bytes = 10}});
    id = sessions.used("set x 1");
    sessions.turn(id, "set large 12345678901");
    sessions.turn(id, "define f");
    const session::PauseAnswer paused = sessions.run(sessions->pause(id, "ann"));
    CHECK(paused.lost_variables == std::vector<std::string>{"f", "large"});
  }
  OpenSessions sessions(disk);
  const session::RunAnswer answer = sessions.turn(id, "get x");
  CHECK(answer.result.stdout_text == "1");
  CHECK(answer.resumed->lost_variables == std::vector<std::string>{"f", "large"});
  CHECK(sessions.turn(id, "get f").result.stdout_text == "(none)");
  sessions.run(sessions->restart(id, "ann"));
  CHECK(sessions.turn(id, "get x").result.stdout_text == "(none)");
}

TEST_CASE("a variable that has changed makes a new generation, and one that has not costs none") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("set x 1");
  CHECK(sessions.run(sessions->pause(id, "ann")).written);
  sessions.turn(id, "get x");
  CHECK_FALSE(sessions.run(sessions->pause(id, "ann")).written);
  sessions.turn(id, "set x 2");
  CHECK(sessions.run(sessions->pause(id, "ann")).generation == 2);
  CHECK(sessions.run(sessions->resume(id, "ann", 1)).generation == 1);
  CHECK(sessions.turn(id, "get x").result.stdout_text == "1");
}

TEST_CASE("a variable that kills its sandbox when it is unpickled is lost, and the files are not") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("set x bomb");
  sessions.turn(id, "write a 1");
  sessions.run(sessions->pause(id, "ann"));
  const session::RunAnswer answer = sessions.turn(id, "read a");
  CHECK(answer.result.stdout_text == "1");
  CHECK(answer.resumed->lost_variables == std::vector<std::string>{"x"});
  CHECK(sessions.world.alive == 1);
}

TEST_CASE("variables that are damaged on the disk are an error, as a damaged workspace is") {
  const Disk disk;
  OpenSessions sessions(disk);
  const std::string id = sessions.used("set x 1");
  sessions.run(sessions->pause(id, "ann"));
  const auto file = disk.snapshots() / id / "1" / "variables.pickle";
  SUBCASE("another byte") { std::ofstream(file) << "x 2 "; }
  SUBCASE("no file") { std::filesystem::remove(file); }
  CHECK_THROWS_AS(sessions.turn(id, "get x"), session::SnapshotDamaged);
  CHECK(sessions.world.alive == 0);
  CHECK(sessions.run(sessions->resume(id, "ann", 0)).source == ResumeSource::fresh);
}
