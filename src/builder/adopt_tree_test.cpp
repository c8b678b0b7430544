#include "builder/adopt_tree.h"

#include "os/read_file.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

namespace {

struct Trees {
  Trees() { fs::create_directories(from() / "inner/most"); }
  fs::path from() const { return root.path() / "from"; }
  fs::path to() const { return root.path() / "to"; }
  void write(const std::string& name, const std::string& content, mode_t mode) const {
    root.write("from/" + name, content);
    REQUIRE(::chmod((from() / name).c_str(), mode) == 0);
  }
  mode_t mode(const std::string& name) const {
    struct stat facts{};
    REQUIRE(::lstat((to() / name).c_str(), &facts) == 0);
    return facts.st_mode;
  }

  test::TemporaryDirectory root;
};

}  // namespace

TEST_CASE("a tree is taken over with its content, and with harmless modes") {
  const Trees trees;
  const std::string large(1'000'000, 'x');
  trees.write("plain", "p", 0600);
  trees.write("inner/program", "#!", 06777);
  trees.write("inner/most/large", large, 0666);
  REQUIRE(::chmod((trees.from() / "inner/most").c_str(), 07777) == 0);
  adopt_tree(trees.from(), trees.to());
  CHECK(os::read_file(trees.to() / "plain", 100) == "p");
  CHECK(os::read_file(trees.to() / "inner/most/large", 2'000'000) == large);
  CHECK(trees.mode("plain") == (S_IFREG | 0644));
  CHECK(trees.mode("inner/program") == (S_IFREG | 0755));
  CHECK(trees.mode("inner/most") == (S_IFDIR | 0755));
}

TEST_CASE("what is neither a file nor a directory is refused by its path") {
  const Trees trees;
  std::string expected;
  SUBCASE("a link") {
    fs::create_symlink("plain", trees.from() / "inner/link");
    expected = "inner/link is a link, which no package may hold";
  }
  SUBCASE("a pipe, which is not opened") {
    REQUIRE(::mkfifo((trees.from() / "pi\npe").c_str(), 0600) == 0);
    expected = "pi?pe is neither a file nor a directory, which no package may hold";
  }
  CHECK_THROWS_WITH_AS(adopt_tree(trees.from(), trees.to()), expected.c_str(), CannotAdopt);
}

TEST_CASE("a link in the place of the tree is not followed") {
  const Trees trees;
  fs::rename(trees.from(), trees.root.path() / "other");
  fs::create_directory_symlink("other", trees.from());
  CHECK_THROWS_AS(adopt_tree(trees.from(), trees.to()), OsError);
}

TEST_CASE("a tree without end is not taken over") {
  const Trees trees;
  trees.write("one", std::string(1000, 'x'), 0644);
  trees.write("two", std::string(1000, 'x'), 0644);
  CHECK_THROWS_AS(adopt_tree(trees.from(), trees.to(), {.bytes = 1999}), CannotAdopt);
  fs::remove_all(trees.to());
  CHECK_THROWS_AS(adopt_tree(trees.from(), trees.to(), {.entries = 3}), CannotAdopt);
  fs::remove_all(trees.to());
  CHECK_THROWS_AS(adopt_tree(trees.from(), trees.to(), {.depth = 2}), CannotAdopt);
  fs::remove_all(trees.to());
  CHECK_NOTHROW(adopt_tree(trees.from(), trees.to(), {.bytes = 2000, .entries = 4, .depth = 3}));
}

TEST_CASE("a tree is not copied longer than its build may last") {
  const Trees trees;
  trees.write("plain", "p", 0600);
  CHECK_THROWS_WITH_AS(
      adopt_tree(trees.from(), trees.to(), {.deadline = std::chrono::steady_clock::now()}),
      "the time of the build is over", CannotAdopt);
}
