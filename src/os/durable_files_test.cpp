#include "os/durable_files.h"

#include "base/error.h"
#include "os/read_file.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>

using namespace hearth;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat facts{};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

struct Umask {
  explicit Umask(mode_t mask) : before(::umask(mask)) {}
  ~Umask() { ::umask(before); }
  mode_t before;
};

}  // namespace

TEST_CASE("files and directories get their mode whatever the umask") {
  const test::TemporaryDirectory directory;
  const Umask strict(0077);
  os::write_new_file(directory.path() / "file", "text", 0644);
  os::make_directory(directory.path() / "inner", 0755);
  CHECK(mode_of(directory.path() / "file") == 0644);
  CHECK(mode_of(directory.path() / "inner") == 0755);
  CHECK(os::read_file(directory.path() / "file", 100) == "text");
}

TEST_CASE("a new file replaces none, a replacing one leaves nothing else behind") {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "file";
  os::write_new_file(file, "first", 0644);
  int code = 0;
  try {
    os::write_new_file(file, "second", 0644);
  } catch (const OsError& error) {
    code = error.code;
  }
  CHECK(code == EEXIST);
  os::replace_file(file, "third", 0600);
  CHECK(os::read_file(file, 100) == "third");
  CHECK(mode_of(file) == 0600);
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a tree becomes readable for all, and what may be executed stays so") {
  const test::TemporaryDirectory directory;
  const fs::path tree = directory.path() / "tree";
  os::make_directory(tree, 0700);
  os::make_directory(tree / "inner", 0700);
  os::write_new_file(tree / "inner" / "data", "", 0600);
  os::write_new_file(tree / "program", "", 04700);
  directory.write("outside", "");
  ::chmod((directory.path() / "outside").c_str(), 0600);
  fs::create_symlink(directory.path() / "outside", tree / "link");
  os::make_world_readable(tree);
  CHECK(mode_of(tree) == 0755);
  CHECK(mode_of(tree / "inner") == 0755);
  CHECK(mode_of(tree / "inner" / "data") == 0644);
  CHECK(mode_of(tree / "program") == 0755);
  CHECK(mode_of(directory.path() / "outside") == 0600);
}

TEST_CASE("a tree put in place takes a free one, or changes places with what stood there") {
  const test::TemporaryDirectory directory;
  const fs::path fresh = directory.path() / "fresh";
  const fs::path place = directory.path() / "place";
  os::make_directory(fresh, 0755);
  os::write_new_file(fresh / "one", "", 0644);
  os::put_in_place(fresh, place);
  CHECK(fs::exists(place / "one"));
  CHECK_FALSE(fs::exists(fresh));

  os::make_directory(fresh, 0755);
  os::write_new_file(fresh / "two", "", 0644);
  os::put_in_place(fresh, place);
  CHECK(fs::exists(place / "two"));
  CHECK(fs::exists(fresh / "one"));
}

TEST_CASE("a file is replaced without writing through a link that lies beside it") {
  const test::TemporaryDirectory folder;
  folder.write("precious", "kept");
  fs::create_symlink(folder.path() / "precious", folder.path() / "file.new");
  os::replace_file(folder.path() / "file", "content", 0644);
  CHECK(os::read_file(folder.path() / "precious", 100) == "kept");
  CHECK(os::read_file(folder.path() / "file", 100) == "content");
}
