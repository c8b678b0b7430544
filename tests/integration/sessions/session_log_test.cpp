// What operators read of sessions in the log. This file becomes two programs, one for each store.
#include "tests/support/captured_log.h"
#include "tests/support/open_sessions.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

using namespace hearth;
using test::CapturedLog;
using test::Disk;
using test::OpenSessions;

TEST_CASE("A19: a start logs how many sessions of the process before it had been live") {
  const Disk disk;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto* sessions = new OpenSessions(disk);
    for (int number = 0; number < 5; ++number) sessions->used();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  const CapturedLog log;
  {
    const OpenSessions sessions(disk);
    CHECK(log.has("stale sessions were marked cold count=5"));
  }
  const CapturedLog next;
  const OpenSessions sessions(disk);
  CHECK_FALSE(next.has("marked cold"));
}

TEST_CASE("A7: the log warns of a session that was deleted to make room, and names it") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_sandboxes = 1});
  const std::string id = sessions.used();
  sessions.run(sessions->pause(id, "ann"));
  const CapturedLog log;
  sessions.create();
  CHECK(log.has("session is evicted: its files are deleted session=" + id));
  CHECK(log.text().find("warn") != std::string::npos);
}

TEST_CASE("A9: the log names a session that was paused to make room, and its ended commands") {
  const Disk disk;
  OpenSessions sessions(disk, {.max_live = 1});
  const std::string id = sessions.used();
  sessions.run(sessions->start(id, "ann", {.shell = "serve"}));
  const CapturedLog log;
  sessions.create();
  CHECK(log.has("session is evicted session=" + id + " state=waiting"));
  CHECK(log.has("background commands of an evicted session were ended session=" + id + " count=1"));
}

TEST_CASE("A21: the nine numbers are in the log when sessions are closed") {
  const Disk disk;
  const CapturedLog log;
  {
    OpenSessions sessions(disk, {.max_sandboxes = 7});
    sessions.used();
  }
  CHECK(
      log.has("sessions are closed total=1 cold=1 warming=0 warm=0 waiting=0 running=0 "
              "maxCapacity=7 resumeWarmHits=0 resumeColdHits=0"));
}
