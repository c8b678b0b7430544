#include "os/file_lock.h"

#include "base/error.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <thread>

using namespace hearth;

TEST_CASE("a lock is held by one at a time") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "lock";
  std::optional<os::FileLock> first = os::FileLock::try_acquire(path);
  REQUIRE(first);
  CHECK_FALSE(os::FileLock::try_acquire(path));
  first.reset();
  CHECK(os::FileLock::try_acquire(path));
}

TEST_CASE("waiting for a lock ends when it is given back, or when asked to stop") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "lock";
  std::optional<os::FileLock> held = os::FileLock::try_acquire(path);
  std::stop_source stop;
  std::thread giver([&] { stop.request_stop(); });
  CHECK_FALSE(os::FileLock::acquire(path, stop.get_token()));
  giver.join();

  giver = std::thread([&] { held.reset(); });
  CHECK(os::FileLock::acquire(path, {}));
  giver.join();
}

TEST_CASE("a lock whose holder was killed is free") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "lock";
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto held = os::FileLock::try_acquire(path);
    [[maybe_unused]] const ssize_t told = ::write(ends[1], "x", 1);
    while (true) ::pause();
  }
  char told = 0;
  REQUIRE(::read(ends[0], &told, 1) == 1);
  CHECK_FALSE(os::FileLock::try_acquire(path));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  CHECK(os::FileLock::try_acquire(path));
  for (const int end : ends) ::close(end);
}

TEST_CASE("a lock on a file that was removed meanwhile is known to be worth nothing") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "lock";
  const auto first = os::FileLock::try_acquire(path);
  CHECK(first->is_still_at(path));
  std::filesystem::remove(path);
  CHECK_FALSE(first->is_still_at(path));
  const auto second = os::FileLock::try_acquire(path);
  CHECK_FALSE(first->is_still_at(path));
}

TEST_CASE("a lock that cannot be opened is an error with its path") {
  CHECK_THROWS_WITH_AS(os::FileLock::try_acquire("/proc/no/such/lock"),
                       "open /proc/no/such/lock: No such file or directory", OsError);
}
