// Environments and interpreters that another user has made, or could have.
#include "builder/builder_fixture.h"
#include "builder/manifest.h"
#include "os/durable_files.h"
#include "os/trusted_path.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace hearth;
using namespace hearth::builder;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 65534;

void give_away(const fs::path& path) { REQUIRE(::lchown(path.c_str(), stranger, stranger) == 0); }

// With an environment that is there already.
struct TrustFixture : Fixture {
  TrustFixture() {
    add_sandbox({});
    add_tool("greet", "");
    built = ensure();
  }

  // A program that answers like the interpreter of the environment and leaves a mark.
  fs::path write_impostor() {
    const Manifest manifest = this->manifest();
    const fs::path program = root.path() / "impostor";
    std::ofstream(program) << "#!/bin/sh\ntouch " << mark().string() << "\necho "
                           << program.string() << "\necho " << manifest.python.version << "\necho "
                           << manifest.python.abi << "\n";
    REQUIRE(::chmod(program.c_str(), 0755) == 0);
    return program;
  }
  Manifest manifest() const {
    const auto manifest = parse_manifest(os::read_file(place() / "manifest", 100'000));
    REQUIRE(manifest);
    return *manifest;
  }
  fs::path mark() const { return root.path() / "mark"; }

  std::string refusal() {
    try {
      ensure();
    } catch (const os::UntrustedPath& error) {
      return error.path;
    }
    return "used";
  }

  Environment built;
};

}  // namespace

TEST_CASE("an environment that other users can write at any place is refused with the path") {
  TrustFixture fixture;
  for (const fs::path& path : {fixture.options.build.state_dir, fixture.environments(),
                               fixture.place(), fixture.place() / "manifest",
                               fixture.place() / "tools", fixture.place() / "tools/greet.py"}) {
    INFO(path.string());
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::all);
    CHECK(fixture.refusal() == path);
    fs::permissions(path, before);
    CHECK(fixture.ensure() == fixture.built);
  }
}

TEST_CASE("an environment that another user has made is refused with the path" *
          doctest::skip(::geteuid() != 0)) {
  TrustFixture fixture;
  for (const fs::path& path : {fixture.options.build.state_dir, fixture.place(),
                               fixture.place() / "manifest", fixture.place() / "tools"}) {
    INFO(path.string());
    give_away(path);
    CHECK(fixture.refusal() == path);
    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  }
}

TEST_CASE("a directory of wheels that other users can write is refused") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "");
  fixture.add_sandbox({"tiny"});
  fs::permissions(fixture.wheels(), fs::perms::all);
  CHECK_THROWS_AS(fixture.ensure(), os::UntrustedPath);
}

TEST_CASE("the program that a manifest names is not run unless it is found again") {
  TrustFixture fixture;
  Manifest forged = fixture.manifest();
  forged.python.executable = fixture.write_impostor();
  SUBCASE("as a file that is unchanged") {
    forged.python_file = *identity_of(forged.python.executable);
  }
  SUBCASE("as a file that has changed") { forged.python_file = {}; }
  os::replace_file(fixture.place() / "manifest", print_manifest(forged), 0644);

  CHECK(fixture.ensure() == fixture.built);
  CHECK_FALSE(fs::exists(fixture.mark()));
  CHECK(fixture.manifest().python.executable == fixture.built.python);
}

TEST_CASE("locks are kept where no other user can open them") {
  TrustFixture fixture;
  const fs::path locks = fixture.options.build.state_dir / "locks";
  CHECK(fs::status(locks).permissions() == fs::perms(0700));
  const std::string checksum = fixture.place().filename();
  CHECK(fs::exists(locks / ("use-" + checksum)));
  // Of an earlier version.
  std::ofstream(fixture.environments() / (".lock-use-" + checksum)) << "";
  prune_environments(fixture.options.build, {checksum}, {});
  CHECK_FALSE(fs::exists(fixture.environments() / (".lock-use-" + checksum)));
  CHECK(fs::exists(fixture.place()));
}

TEST_CASE(
    "root runs no Python that another user could have written, and says which it passed over" *
    doctest::skip(::geteuid() != 0)) {
  TrustFixture fixture;
  const fs::path program = fixture.root.path() / "bin/python3";
  fs::create_directory(program.parent_path());
  fs::rename(fixture.write_impostor(), program);
  give_away(program.parent_path());
  CHECK_FALSE(ask_python(program));
  try {
    find_python(fixture.python, {program.parent_path()});
    FAIL("found");
  } catch (const PythonNotFound& error) {
    const std::string what = error.what();
    INFO(what);
    CHECK(what.find("not run as root: " + program.string() + " (trust " +
                    program.parent_path().string() + ": it belongs to user 65534") !=
          std::string::npos);
  }
  CHECK_FALSE(fs::exists(fixture.mark()));
}
