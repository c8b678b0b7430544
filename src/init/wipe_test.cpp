#include "init/wipe.h"

#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace hearth;
namespace fs = std::filesystem;

TEST_CASE(
    "P13: a wipe removes dotfiles, nested and read-only directories, links, sockets and fifos") {
  const test::TemporaryDirectory outside;
  outside.write("kept", "precious");
  const test::TemporaryDirectory inside;
  inside.write(".hidden", "x");
  fs::create_directories(inside.path() / "a/b/c");
  inside.write("a/b/c/file", "x");
  fs::create_symlink(outside.path(), inside.path() / "link_to_directory");
  fs::create_symlink(outside.path() / "kept", inside.path() / "a/link_to_file");
  fs::create_symlink("nowhere", inside.path() / "dangling");
  fs::create_hard_link(outside.path() / "kept", inside.path() / "hard");
  REQUIRE(::mkfifo((inside.path() / "fifo").c_str(), 0600) == 0);
  inside.write(".hearth-wipe-0", "a name the wipe would like to use");
  fs::permissions(inside.path() / "a/b", fs::perms::none);
  fs::permissions(inside.path() / "a", fs::perms::none);
  fs::permissions(inside.path(), fs::perms::none);

  CHECK(init::wipe_directory(inside.path(), 0755).empty());
  CHECK(fs::is_empty(inside.path()));
  CHECK((fs::status(inside.path()).permissions() & fs::perms::all) == fs::perms(0755));
  CHECK(fs::exists(outside.path() / "kept"));
}

TEST_CASE("a wipe follows no link that stands in the directory's place") {
  const test::TemporaryDirectory outside;
  outside.write("kept", "precious");
  const test::TemporaryDirectory parent;
  fs::create_directory_symlink(outside.path(), parent.path() / "workspace");
  CHECK_FALSE(init::wipe_directory(parent.path() / "workspace", 0700).empty());
  CHECK(fs::exists(outside.path() / "kept"));
  CHECK(init::wipe_directory(parent.path() / "absent", 0700).empty());
}

TEST_CASE("a tree deeper than any stack or path is wiped") {
  const test::TemporaryDirectory inside;
  int parent = ::open(inside.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < 20'000; ++level) {
    REQUIRE(::mkdirat(parent, "d", 0700) == 0);
    const int child = ::openat(parent, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(child >= 0);
    ::close(parent);
    parent = child;
  }
  ::close(parent);
  CHECK(init::wipe_directory(inside.path(), 0700).empty());
  CHECK(fs::is_empty(inside.path()));
}
