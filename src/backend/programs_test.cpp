#include "backend/programs.h"

#include "base/error.h"
#include "os/trusted_path.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace hearth;
using namespace hearth::backend;

namespace {

namespace fs = std::filesystem;

struct Directory : test::TemporaryDirectory {
  explicit Directory(const std::string& without = "") {
    for (const std::string name : {"hearth-launcher", "hearth-init", "libhearth-isolate.so"})
      if (name != without) write(name, "");
    if (without == "executor_harness") return;
    fs::create_directories(path() / "executor_harness/__pycache__");
    write("executor_harness/worker.py", "");
    write("executor_harness/__pycache__/worker.pyc", "");
  }
};

// The tests of a program share its environment.
struct Variable {
  explicit Variable(const fs::path& value) { ::setenv("HEARTH_LIBEXEC", value.c_str(), 1); }
  ~Variable() { ::unsetenv("HEARTH_LIBEXEC"); }
};

}  // namespace

TEST_CASE("the programs are found beside the running program") {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  CHECK(find_programs().init == beside / "hearth-init");
}

TEST_CASE("an embedding program names the directory of the programs") {
  const Directory directory;
  const Programs programs = find_programs(directory.path());
  CHECK(programs.launcher == directory.path() / "hearth-launcher");
  CHECK(programs.init == directory.path() / "hearth-init");
  CHECK(programs.isolate_library == directory.path() / "libhearth-isolate.so");
  CHECK(programs.harness == directory.path() / "executor_harness");
}

TEST_CASE("HEARTH_LIBEXEC replaces a directory that was compiled in") {
  const Directory directory;
  const Variable variable(directory.path());
  CHECK(find_programs("/moved/away").init == directory.path() / "hearth-init");
}

TEST_CASE("an empty HEARTH_LIBEXEC is as good as none") {
  const Directory directory;
  const Variable variable("");
  CHECK(find_programs(directory.path()).init == directory.path() / "hearth-init");
}

TEST_CASE("root takes no program and no module of the harness that another user has made" *
          doctest::skip(::geteuid() != 0)) {
  const Directory directory;
  for (const char* name :
       {"hearth-launcher", "hearth-init", "libhearth-isolate.so", "executor_harness",
        "executor_harness/worker.py", "executor_harness/__pycache__",
        "executor_harness/__pycache__/worker.pyc"}) {
    INFO(name);
    const fs::path path = directory.path() / name;
    REQUIRE(::lchown(path.c_str(), 65534, 65534) == 0);
    CHECK_THROWS_AS(find_programs(directory.path()), os::UntrustedPath);
    REQUIRE(::lchown(path.c_str(), 0, 0) == 0);
    CHECK_NOTHROW(find_programs(directory.path()));
  }
}

TEST_CASE("programs that are missing in the named directory are not taken from elsewhere") {
  const Directory directory("executor_harness");
  const std::string expected = "executor_harness is missing: it is not in " +
                               directory.path().string() +
                               " (HEARTH_LIBEXEC can name the directory of Hearth's programs)";
  CHECK_THROWS_WITH_AS(find_programs(directory.path()), expected.c_str(), Error);
  CHECK_THROWS_AS(find_programs("/nowhere"), Error);
}
