#include "builder/native_builder.h"

#include "builder/builder_fixture.h"
#include "builder/manifest.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <set>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

namespace {

os::ProgramResult import_from(const Environment& environment, const std::string& module,
                              const std::string& expression) {
  return os::run_program({.program = environment.python,
                          .arguments = {"-I", "-B", "-c",
                                        "import sys; sys.path[:0] = sys.argv[1:]\nimport " +
                                            module + "\nprint(" + expression + ")",
                                        environment.packages, environment.tools}});
}

std::set<unsigned> modes_in(const fs::path& tree) {
  std::set<unsigned> modes;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    struct stat facts{};
    REQUIRE(::lstat(entry.path().c_str(), &facts) == 0);
    modes.insert(facts.st_mode & 07777);
  }
  return modes;
}

}  // namespace

TEST_CASE("packages and tools can be imported from the environment") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "ANSWER = 42\n");
  fixture.add_sandbox({"Tiny >= 1"});
  fixture.add_tool("greet", "def hello():\n    return 'hi'\n");
  const Environment environment = fixture.ensure();

  CHECK(environment.checksum == fixture.place().filename());
  CHECK(environment.python == fs::canonical(environment.python));
  CHECK(import_from(environment, "tiny", "tiny.ANSWER").output == "42\n");
  CHECK(import_from(environment, "greet", "greet.hello()").output == "hi\n");
  CHECK(fixture.reported("Successfully installed tiny-1.0"));
  const std::string log = os::read_file(fixture.place() / "build.log", 1'000'000);
  CHECK(log.find("Successfully installed tiny-1.0\n") != std::string::npos);
  CHECK(fixture.left_over().empty());
}

TEST_CASE("an environment is readable for all and compiled, whatever the umask") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "");
  fixture.add_sandbox({"tiny"});
  fixture.add_tool("greet", "");
  const mode_t before = ::umask(0077);
  const Environment environment = fixture.ensure();
  ::umask(before);

  CHECK(modes_in(fixture.place()) == std::set<unsigned>{0644, 0755});
  struct stat facts{};
  REQUIRE(::stat(fixture.place().c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0755);
  for (const auto& [tree, module] :
       {std::pair(environment.packages, "tiny"), std::pair(environment.tools, "greet")}) {
    const auto cached = import_from(environment, module, module + std::string(".__cached__"));
    INFO(cached.output);
    CHECK(fs::exists(tree / "__pycache__"));
    CHECK(fs::exists(cached.output.substr(0, cached.output.size() - 1)));
  }
}

TEST_CASE("an unchanged environment is used at once: nothing runs, nothing is written") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "");
  fixture.add_sandbox({"tiny"});
  const Environment first = fixture.ensure();
  const auto manifest = identity_of(fixture.place() / "manifest");
  const auto tree = identity_of(fixture.place());
  const fs::path bin = fixture.root.path() / "bin";
  fs::create_directory(bin);
  fixture.options.build.python_directories = {bin};
  fs::create_symlink(first.python, bin / "python");
  fixture.progress.clear();

  CHECK(fixture.ensure() == first);
  CHECK(fixture.progress.empty());
  CHECK(identity_of(fixture.place() / "manifest") == manifest);
  CHECK(identity_of(fixture.place()) == tree);
}

TEST_CASE("B14: a package that does not exist is an error with pip's words, and leaves nothing") {
  Fixture fixture;
  fixture.add_sandbox({"no-such-package"});
  const BuildError error = fixture.failure();
  CHECK(error.log.find("No matching distribution found for no-such-package") != std::string::npos);
  CHECK(std::string(error.what())
            .find("build the environment of blueprint \"box\": pip could not install its packages "
                  "(exit "
                  "code 1): No matching distribution found for no-such-package") == 0);
  CHECK_FALSE(fs::exists(fixture.place()));
  CHECK(fixture.left_over().empty());

  test::write_wheel(fixture.wheels(), "no_such_package", "");
  CHECK_NOTHROW(fixture.ensure());
}

TEST_CASE("without packages there is no pip, and no need of an index") {
  Fixture fixture;
  fixture.options.build.pip = {.index_url = "http://127.0.0.1:1/simple"};
  fixture.add_sandbox({});
  fixture.add_tool("greet", "");
  const Environment environment = fixture.ensure();
  CHECK(environment.packages.empty());
  CHECK(fs::exists(environment.tools / "greet.py"));
  CHECK(fixture.progress.empty());
}

TEST_CASE("C24: a version of Python that is missing is a build error that lists those there are") {
  Fixture fixture;
  fixture.registry.register_blueprint({.name = "box", .python_version = "3.99"});
  try {
    fixture.ensure();
    FAIL("found");
  } catch (const PythonNotFound& error) {
    CHECK(error.wanted == "3.99");
    CHECK_FALSE(error.existing.empty());
    CHECK(dynamic_cast<const BuildError*>(&error) != nullptr);
  }
}

TEST_CASE("B15: a sandbox that is not registered is an error") {
  Fixture fixture;
  CHECK_THROWS_AS(fixture.ensure("other"), registry::UnknownBlueprint);
}

TEST_CASE("another source of a tool is another environment, and the older one stays") {
  Fixture fixture;
  fixture.add_sandbox({});
  fixture.add_tool("greet", "VERSION = 1\n");
  const Environment older = fixture.ensure();
  fixture.registry = registry::ToolRegistry();
  fixture.add_sandbox({});
  fixture.add_tool("greet", "VERSION = 2\n");
  const Environment newer = fixture.ensure();

  CHECK(newer.tools != older.tools);
  CHECK(import_from(newer, "greet", "greet.VERSION").output == "2\n");
  CHECK(import_from(older, "greet", "greet.VERSION").output == "1\n");
}

TEST_CASE("a state directory that cannot be used is an error that names it") {
  Fixture fixture;
  fixture.root.write("file", "");
  fixture.options.build.state_dir = fixture.root.path() / "file" / "state";
  fixture.add_sandbox({});
  CHECK_THROWS_WITH_AS(
      fixture.ensure(),
      ("create " + fixture.options.build.state_dir.string() + ": Not a directory").c_str(),
      OsError);
}

TEST_CASE("a directory that is no whole environment is replaced by one") {
  Fixture fixture;
  fixture.add_sandbox({});
  fixture.add_tool("greet", "");
  fs::create_directories(fixture.place() / "tools");
  const Environment environment = fixture.ensure();
  CHECK(fs::exists(environment.tools / "greet.py"));
  CHECK(fixture.left_over().empty());
}

TEST_CASE("packages from another place make another environment") {
  Fixture fixture;
  fixture.add_sandbox({"requests"});
  fixture.add_sandbox({}, "plain");
  const PipOptions here{.find_links = {"/repository/wheels"}, .no_index = true};
  const PipOptions there{.index_url = "https://index.example/simple"};
  const auto checksum = [&](const char* name, const PipOptions& pip) {
    return environment_checksum(fixture.registry, name, pip);
  };
  CHECK(checksum("box", here) != checksum("box", there));
  CHECK(checksum("box", here) == checksum("box", here));
  CHECK(checksum("plain", here) == checksum("plain", there));
}

TEST_CASE("a wheel that was replaced under its name makes another environment") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "");
  fixture.add_sandbox({"tiny"});
  const fs::path before = fixture.place();
  CHECK(fixture.place() == before);
  test::write_wheel(fixture.wheels(), "tiny", "x = 'another'");
  CHECK(fixture.place() != before);
}
