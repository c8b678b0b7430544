#include "builder/workshop.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <optional>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

TEST_CASE("a workshop is gone with its owner, and not before") {
  const test::TemporaryDirectory parent;
  std::optional<Workshop> mine(std::in_place, parent.path());
  const fs::path path = mine->path();
  fs::create_directories(path / "deep" / "inside");
  remove_left_workshops(parent.path());
  CHECK(fs::exists(path / "deep"));
  mine.reset();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("what a dead builder left is removed, other things are not") {
  const test::TemporaryDirectory parent;
  fs::create_directories(parent.path() / ".building-1/environment");
  parent.write(".building-1/lock", "");
  fs::create_directories(parent.path() / ".building-2");  // died before it had a lock
  fs::create_directories(parent.path() / "building-3");
  remove_left_workshops(parent.path());
  CHECK_FALSE(fs::exists(parent.path() / ".building-1"));
  CHECK_FALSE(fs::exists(parent.path() / ".building-2"));
  CHECK(fs::exists(parent.path() / "building-3"));
}

TEST_CASE("a workshop is never lost to a process that removes leftovers") {
  const test::TemporaryDirectory parent;
  const std::jthread remover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) remove_left_workshops(parent.path());
  });
  int lost = 0;
  for (int round = 0; round < 300; ++round) {
    const Workshop workshop(parent.path());
    std::error_code failed;
    fs::create_directory(workshop.path() / "made", failed);
    lost += failed ? 1 : 0;
  }
  CHECK(lost == 0);
}
