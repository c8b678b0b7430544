#include "base/error.h"
#include "launcher/root.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

using namespace hearth;
using namespace hearth::launcher;
namespace fs = std::filesystem;

namespace {

ino_t opened(const fs::path& source, bool follows_links) {
  const auto sources =
      open_sources({Bind{.source = source, .target = "/data", .follows_links = follows_links}});
  REQUIRE(sources.size() == 1);
  struct stat facts{};
  REQUIRE(::fstat(sources.front().get(), &facts) == 0);
  return facts.st_ino;
}

ino_t inode_of(const fs::path& path) {
  struct stat facts{};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_ino;
}

}  // namespace

TEST_CASE("a source that has become a link, or has one on its way, is not opened") {
  const test::TemporaryDirectory folder;
  const fs::path here = fs::canonical(folder.path());
  fs::create_directories(here / "real/sub");
  folder.write("real/sub/file", "");
  CHECK(opened(here / "real/sub", false) == inode_of(here / "real/sub"));
  CHECK(opened(here / "real//sub/file", false) == inode_of(here / "real/sub/file"));

  fs::create_directory_symlink("real", here / "link");
  fs::create_symlink("file", here / "real/sub/other");
  const std::string link = here / "link";
  for (const std::string& source : {link, link + "/sub", link + "/sub/file"}) {
    CHECK_THROWS_WITH_AS(opened(source, false),
                         ("open " + source + ": " + link + " has become a link").c_str(), Error);
    CHECK_NOTHROW(opened(source, true));
  }
  CHECK_THROWS_AS(opened(here / "real/sub/other", false), Error);
  CHECK_THROWS_AS(opened("/proc/self/cwd", false), Error);
}

TEST_CASE("a source that is not there is an error of the system that names it") {
  CHECK_THROWS_WITH_AS(opened("/no/such/directory", false),
                       "open /no/such/directory: No such file or directory", OsError);
}
