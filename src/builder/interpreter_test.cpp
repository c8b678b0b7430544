// What becomes of an environment when its interpreter changes, and of one that has no pip.
#include "builder/builder_fixture.h"
#include "builder/manifest.h"
#include "builder/native_builder.h"
#include "os/durable_files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

namespace {

// With an interpreter of its own, a copy without pip.
struct InterpreterFixture : Fixture {
  InterpreterFixture() {
    const Python original = find_python(python, usual);
    const os::ProgramResult made = os::run_program(
        {.program = original.executable,
         .arguments = {"-I", "-m", "venv", "--copies", "--without-pip", root.path() / "venv"}});
    REQUIRE(made.succeeded());
    const fs::path bin = root.path() / "venv/bin";
    for (const char* other : {"python", "python3"}) fs::remove(bin / other);
    options.build.python_directories = {bin};
  }
  Manifest manifest() const {
    const auto manifest = parse_manifest(os::read_file(place() / "manifest", 100'000));
    REQUIRE(manifest);
    return *manifest;
  }

  std::vector<fs::path> usual = usual_python_directories();
};

}  // namespace

TEST_CASE("an interpreter without pip is an error that says what to install") {
  InterpreterFixture fixture;
  fixture.add_sandbox({"anything"});
  const BuildError error = fixture.failure();
  const std::string what = error.what();
  CHECK(what.find("has no pip") != std::string::npos);
  CHECK(what.find("python3-pip") != std::string::npos);
  CHECK(what.find("-m ensurepip") != std::string::npos);
  CHECK(error.log.find("has no pip") != std::string::npos);
}

TEST_CASE("an interpreter that was updated in its place keeps its environments") {
  InterpreterFixture fixture;
  fixture.add_sandbox({});
  fixture.add_tool("greet", "");
  const Environment before = fixture.ensure();
  const auto tree = identity_of(fixture.place());
  const auto tools = identity_of(fixture.place() / "tools");
  fs::last_write_time(before.python, fs::file_time_type::clock::now());

  CHECK(fixture.ensure() == before);
  CHECK(identity_of(fixture.place())->inode == tree->inode);
  CHECK(identity_of(fixture.place() / "tools") == tools);
  CHECK(fixture.manifest().python_file == identity_of(before.python));
}

TEST_CASE("an interpreter that became another version is noticed, and another is found") {
  InterpreterFixture fixture;
  fixture.add_sandbox({});
  const Environment before = fixture.ensure();
  fs::remove(before.python);
  std::ofstream(before.python) << "#!/bin/sh\necho $0; echo 3.99.0; echo .cpython-399-x.so\n";
  ::chmod(before.python.c_str(), 0755);
  CHECK_THROWS_AS(fixture.ensure(), PythonNotFound);

  fixture.options.build.python_directories = fixture.usual;
  const Environment after = fixture.ensure();
  CHECK(after.python != before.python);
  CHECK(after.tools != before.tools);  // the interpreter is part of an environment's identity
  CHECK(fixture.manifest().python.executable == after.python);
}

TEST_CASE("an environment made for an interpreter with another ABI is built anew") {
  InterpreterFixture fixture;
  fixture.add_sandbox({});
  fixture.add_tool("greet", "");
  fixture.ensure();
  Manifest other = fixture.manifest();
  other.python.abi = ".cpython-399-x.so";
  other.python_file = {};
  os::replace_file(fixture.place() / "manifest", print_manifest(other), 0644);
  const auto tree = identity_of(fixture.place());

  const Environment after = fixture.ensure();
  CHECK(fs::exists(after.tools / "greet.py"));
  CHECK(identity_of(fixture.place())->inode != tree->inode);
  CHECK(fixture.manifest().python.abi != other.python.abi);
  CHECK(fixture.left_over().empty());
}
