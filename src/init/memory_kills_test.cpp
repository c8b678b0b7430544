#include "init/memory_kills.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace hearth::init {

TEST_CASE("kills for memory are read from either version's file") {
  CHECK(oom_kills_in("low 0\nhigh 1\nmax 12\noom 3\noom_kill 2\noom_group_kill 7\n") == 2);
  CHECK(oom_kills_in("oom_kill_disable 1\nunder_oom 0\noom_kill 41\n") == 41);
  CHECK(oom_kills_in("oom_kill_disable 1\nunder_oom 0\n") == 0);
  CHECK(oom_kills_in("oom_kill") == 0);
  CHECK(oom_kills_in("oom_kill x") == 0);
  CHECK(oom_kills_in("") == 0);
}

TEST_CASE("kills for memory are counted as they come, and are none where they cannot be seen") {
  const test::TemporaryDirectory version_2;
  version_2.write("memory.events", "oom_kill 1\n");
  const MemoryKills kills(version_2.path());
  CHECK(kills.count() == 1);
  version_2.write("memory.events", "oom_kill 2\n");
  CHECK(kills.count() == 2);

  const test::TemporaryDirectory version_1;
  std::filesystem::create_directory(version_1.path() / "memory");
  version_1.write("memory/memory.oom_control", "under_oom 0\noom_kill 5\n");
  CHECK(MemoryKills(version_1.path()).count() == 5);

  const test::TemporaryDirectory neither;
  MemoryKills own(neither.path());
  CHECK(own.count() == 0);
  own.note_own();
  CHECK(own.count() == 1);
}

}  // namespace hearth::init
