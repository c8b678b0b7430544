#include "docker/shown_tools.h"

#include "os/read_file.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

namespace hearth::docker {

namespace fs = std::filesystem;

TEST_CASE("H25: each set of tools has a directory that every container can read") {
  const test::TemporaryDirectory state;
  fs::path first;
  {
    const ShownTools tools(state.path(), "abc");
    const mode_t before = ::umask(0077);
    first = tools.directory_of({{"one", "x = 1"}, {"two", "x = 2"}});
    const fs::path second = tools.directory_of({});
    ::umask(before);
    CHECK(first != second);
    CHECK(os::read_file(first / "one.py", 100) == "x = 1");
    CHECK(os::read_file(first / "two.py", 100) == "x = 2");
    CHECK(fs::is_empty(second));
    CHECK(fs::status(first).permissions() == static_cast<fs::perms>(0755));
    CHECK(fs::status(first / "one.py").permissions() == static_cast<fs::perms>(0644));
    CHECK(ShownTools::instances(state.path()) == std::vector<std::string>{"abc"});
  }
  CHECK_FALSE(fs::exists(first));
  CHECK(ShownTools::instances(state.path()).empty());
}

TEST_CASE("what a dead process showed can be removed") {
  const test::TemporaryDirectory state;
  fs::create_directories(state.path() / "tools/dead/0");
  state.write("tools/dead/0/one.py", "");
  ShownTools::remove(state.path(), "dead");
  CHECK(ShownTools::instances(state.path()).empty());
}

}  // namespace hearth::docker
