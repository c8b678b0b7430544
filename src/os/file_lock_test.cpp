#include "os/file_lock.h"

#include "base/error.h"
#include "os/trusted_path.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
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

TEST_CASE("no other user can open a lock, and an older one is closed to them") {
  const test::TemporaryDirectory directory;
  const auto mode_of = [&](const char* name) {
    struct stat facts{};
    REQUIRE(::stat((directory.path() / name).c_str(), &facts) == 0);
    return facts.st_mode & 07777;
  };
  const mode_t before = ::umask(0);
  CHECK(os::FileLock::try_acquire(directory.path() / "new"));
  ::umask(before);
  CHECK(mode_of("new") == 0600);
  directory.write("old", "");
  ::chmod((directory.path() / "old").c_str(), 0644);
  CHECK(os::FileLock::try_acquire(directory.path() / "old"));
  CHECK(mode_of("old") == 0600);
}

TEST_CASE("a lock that another user made, or could exchange, is refused") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "lock";
  ::chmod(directory.path().c_str(), 0777);
  CHECK_THROWS_AS(os::FileLock::try_acquire(path), os::UntrustedPath);
  ::chmod(directory.path().c_str(), 0755);
  if (::geteuid() != 0) return;
  directory.write("lock", "");
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK_THROWS_AS(os::FileLock::try_acquire(path), os::UntrustedPath);
}
