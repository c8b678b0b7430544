#include "builder/find_python.h"

#include "os/run_program.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

namespace {

Python python(std::string path, std::string version,
              std::string abi = ".cpython-311-x86_64-linux-gnu.so") {
  return {std::move(path), std::move(version), std::move(abi)};
}

std::string chosen(const std::vector<Python>& found, std::string_view wanted) {
  const Python* choice = choose_python(found, wanted);
  return choice == nullptr ? "none" : choice->executable.string();
}

// A program that answers as a Python of `version` would.
void write_fake(const test::TemporaryDirectory& directory, const std::string& name,
                const std::string& version) {
  directory.write(name, "#!/bin/sh\necho $0\necho " + version + "\necho .cpython-399-x.so\n");
  ::chmod((directory.path() / name).c_str(), 0755);
}

}  // namespace

TEST_CASE("a version is matched by its parts, not by its letters") {
  CHECK(is_version("3.11.2", "3.11"));
  CHECK(is_version("3.11.2", "3.11.2"));
  CHECK_FALSE(is_version("3.11.2", "3.1"));
  CHECK_FALSE(is_version("3.11.20", "3.11.2"));
  CHECK_FALSE(is_version("3.13.0rc1", "3.13.0"));
  CHECK(is_version("3.13.0rc1", "3.13"));
}

TEST_CASE("the first Python of the version is chosen") {
  CHECK(chosen({python("/a", "3.10.1"), python("/b", "3.11.1"), python("/c", "3.11.2")}, "3.11") ==
        "/b");
  CHECK(chosen({python("/b", "3.11.1"), python("/c", "3.11.2")}, "3.11.2") == "/c");
  CHECK(chosen({python("/b", "3.11.1")}, "3.12") == "none");
}

TEST_CASE("an unusual Python is chosen only when there is no other") {
  const Python candidate = python("/rc", "3.13.0rc1", ".cpython-313-x86_64-linux-gnu.so");
  const Python threaded = python("/t", "3.13.1", ".cpython-313t-x86_64-linux-gnu.so");
  const Python other = python("/pypy", "3.13.1", ".pypy313-pp73-x86_64-linux-gnu.so");
  const Python usual = python("/usual", "3.13.0", ".cpython-313-x86_64-linux-gnu.so");
  CHECK(chosen({candidate, threaded, other, usual}, "3.13") == "/usual");
  CHECK(chosen({candidate, threaded, other}, "3.13") == "/rc");
}

TEST_CASE("a Python is found by its versioned name, or else by what it says about itself") {
  const test::TemporaryDirectory above;
  const test::TemporaryDirectory first(above.path());
  const test::TemporaryDirectory second(above.path());
  write_fake(first, "python3", "3.99.1");
  write_fake(second, "python3.99", "3.99.2");
  const std::vector<fs::path> both = {first.path(), second.path()};
  CHECK(find_python("3.99", both).version == "3.99.2");
  CHECK(find_python("3.99.1", both).version == "3.99.1");
  CHECK(find_python("3.99", {first.path()}).executable == first.path() / "python3");
}

TEST_CASE("a name that lies, and a program that is none, are passed over") {
  const test::TemporaryDirectory above;
  const test::TemporaryDirectory directory(above.path());
  const test::TemporaryDirectory good(above.path());
  write_fake(directory, "python3.99", "3.98.4");
  directory.write("python3", "not executable");
  directory.write("python", "#!/bin/sh\nexit 127\n");
  ::chmod((directory.path() / "python").c_str(), 0755);
  write_fake(good, "python", "3.99.0");
  CHECK(find_python("3.99", {directory.path(), good.path()}).version == "3.99.0");
}

TEST_CASE("a version that is missing is an error with every Python that exists") {
  const test::TemporaryDirectory above;
  const test::TemporaryDirectory directory(above.path());
  write_fake(directory, "python3.98", "3.98.4");
  write_fake(directory, "python3", "3.97.0");
  fs::create_symlink("python3", directory.path() / "python");
  const std::string path = directory.path().string();
  try {
    find_python("3.99", {directory.path(), "/no/such/directory"});
    FAIL("found");
  } catch (const PythonNotFound& error) {
    CHECK(error.wanted == "3.99");
    CHECK(error.existing == std::vector<std::string>{"3.97.0 (" + path + "/python3)",
                                                     "3.98.4 (" + path + "/python3.98)"});
    CHECK(std::string(error.what()) ==
          "there is no Python 3.99 on this machine; there are 3.97.0 (" + path +
              "/python3), 3.98.4 (" + path + "/python3.98)");
  }
  CHECK_THROWS_WITH_AS(find_python("3.99", {}),
                       "there is no Python 3.99 on this machine; there is no Python 3 at all",
                       PythonNotFound);
}

TEST_CASE("the Python of this machine is found, by its real path") {
  const os::ProgramResult version =
      os::run_program({.program = "python3",
                       .arguments = {"-c", "import sys; print('%d.%d' % sys.version_info[:2])"}});
  REQUIRE(version.succeeded());
  const std::string wanted = version.output.substr(0, version.output.size() - 1);
  const Python found = find_python(wanted, usual_python_directories());
  CHECK(is_version(found.version, wanted));
  CHECK(found.executable == fs::canonical(found.executable));
  CHECK(ask_python(found.executable) == found);
}
