#include "os/remove_tree.h"

#include "os/unique_fd.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace hearth;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

Clock::time_point far_away() { return Clock::now() + std::chrono::minutes(5); }

void make_deep(const fs::path& top, int depth) {
  fs::create_directory(top);
  os::UniqueFd here(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < depth; ++level) {
    REQUIRE(::mkdirat(here.get(), "d", 0700) == 0);
    here = os::UniqueFd(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(here);
  }
}

}  // namespace

TEST_CASE("a tree deeper than paths and descriptors reach is removed") {
  const test::TemporaryDirectory folder;
  make_deep(folder.path() / "tree", 20'000);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const bool removed = os::remove_tree(folder.path() / "tree", far_away());
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(removed);
  CHECK_FALSE(fs::exists(folder.path() / "tree"));
}

TEST_CASE("links in a tree are removed, not followed") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "kept/inside");
  folder.write("kept/file", "content");
  fs::create_directories(folder.path() / "tree/a/b");
  fs::create_directory_symlink(folder.path() / "kept", folder.path() / "tree/link");
  fs::create_directory_symlink(folder.path() / "kept", folder.path() / "tree/a/b/link");
  fs::create_symlink("nowhere", folder.path() / "tree/a/dangling");
  CHECK(os::remove_tree(folder.path() / "tree", far_away()));
  CHECK_FALSE(fs::exists(folder.path() / "tree"));
  CHECK(fs::exists(folder.path() / "kept/inside"));
  CHECK(fs::exists(folder.path() / "kept/file"));
  fs::create_directory_symlink(folder.path() / "kept", folder.path() / "top");
  CHECK(os::remove_tree(folder.path() / "top", far_away()));
  CHECK(fs::exists(folder.path() / "kept/file"));
}

TEST_CASE("directories that their owner has closed are removed with many files") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "tree/closed/inside/more");
  for (int index = 0; index < 3000; ++index)
    folder.write("tree/closed/inside/" + std::to_string(index), "");
  for (const char* name : {"tree/closed/inside", "tree/closed", "tree"})
    ::chmod((folder.path() / name).c_str(), 0);
  CHECK(os::remove_tree(folder.path() / "tree", far_away()));
  CHECK_FALSE(fs::exists(folder.path() / "tree"));
  CHECK(os::remove_tree(folder.path() / "tree", far_away()));
}

TEST_CASE("a removal ends at its deadline, and a later one finishes it") {
  const test::TemporaryDirectory folder;
  make_deep(folder.path() / "tree", 100);
  CHECK_FALSE(os::remove_tree(folder.path() / "tree", Clock::now()));
  CHECK(fs::exists(folder.path() / "tree"));
  CHECK(os::remove_tree(folder.path() / "tree", far_away()));
}
