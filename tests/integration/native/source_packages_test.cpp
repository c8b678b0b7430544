// Packages whose installation runs code that is not trusted. As root, or as an ordinary user.
#include "base/scope_exit.h"
#include "builder/builder_fixture.h"
#include "tests/support/fifo.h"

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

using namespace hearth;
using namespace hearth::builder;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

struct SourceFixture : Fixture {
  explicit SourceFixture(const std::string& code, bool is_allowed = true) {
    options.build.pip.allow_source_builds = is_allowed;
    test::write_source_archive(wheels(), "evil", code);
    add_sandbox({"evil"});
  }
  json::object facts() {
    const Environment environment = ensure();
    return json::parse(os::read_file(environment.packages / "evil.py", 100'000)).as_object();
  }
};

// Of find_links a build sees archives only. A local index is shown as it is, though not asked.
fs::path show_directory(Fixture& fixture) {
  const fs::path shown = fixture.root.path() / "shown";
  fs::create_directory(shown);
  fixture.options.build.pip.index_url = "file://" + shown.string();
  return shown;
}

}  // namespace

TEST_CASE("a package without a wheel is refused, with its name and the key that permits it") {
  SourceFixture fixture("", false);
  const std::string what = fixture.failure().what();
  INFO(what);
  CHECK(what.find("No matching distribution found for evil (only wheels are installed;") !=
        std::string::npos);
  CHECK(what.find("allow_source_builds = true in [builder] of hearth.toml") != std::string::npos);
}

TEST_CASE("a direct reference needs the same consent, whatever it refers to") {
  Fixture fixture;
  test::write_wheel(fixture.wheels(), "tiny", "");
  fixture.add_sandbox(
      {"tiny @ file://" + fixture.wheels().string() + "/tiny-1.0-py3-none-any.whl"});
  const std::string what = fixture.failure().what();
  INFO(what);
  CHECK(what.find("the package \"tiny\" is a direct reference") != std::string::npos);
  CHECK(what.find("allow_source_builds = true in [builder]") != std::string::npos);

  fixture.options.build.pip.allow_source_builds = true;
  CHECK(fs::exists(fixture.ensure().packages / "tiny.py"));
}

TEST_CASE("a wheel that asks for a source archive by a direct reference does not get it built") {
  Fixture fixture;
  const fs::path shown = show_directory(fixture);
  test::write_source_archive(shown, "evil", "");
  test::write_wheel(fixture.wheels(), "nice", "",
                    "Requires-Dist: evil @ file://" + shown.string() + "/evil-1.0.tar.gz\n");
  fixture.add_sandbox({"nice"});
  const std::string what = fixture.failure().what();
  INFO(what);
  CHECK(what.find("a package wants to run a program while it is installed") != std::string::npos);
  CHECK(what.find("allow_source_builds = true in [builder]") != std::string::npos);

  fixture.options.build.pip.allow_source_builds = true;
  CHECK(fs::exists(fixture.ensure().packages / "evil.py"));
}

TEST_CASE("code that runs to install a package is confined") {
  SourceFixture fixture(R"(
import os
status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
facts.update({name: status[name] for name in ("CapEff", "CapBnd", "Seccomp", "NoNewPrivs")})
facts["user"] = os.getuid()
facts["seen"] = [path for path in ("/root/.bashrc", "/root/.ssh", "/home", "/var", "/etc/shadow") if os.path.exists(path)]
facts["processes"] = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit()]
facts["written"] = []
for path in ("/", "/usr", "/etc", "/usr/lib/python3/dist-packages"):
    try:
        open(path + "/written-by-evil", "w")
        facts["written"].append(path)
    except OSError:
        pass
)");
  const json::object facts = fixture.facts();
  INFO(json::serialize(facts));
  CHECK(facts.at("CapEff") == "0000000000000000");
  CHECK(facts.at("CapBnd") == "0000000000000000");
  CHECK(facts.at("Seccomp") == "2");
  CHECK(facts.at("NoNewPrivs") == "1");
  CHECK(facts.at("user") == 1000);
  CHECK(facts.at("seen").as_array().empty());
  CHECK(facts.at("written").as_array().empty());
  for (const json::value& process : facts.at("processes").as_array())
    CHECK(process.as_string().find("python") != std::string::npos);
}

TEST_CASE("a build gets the credentials of its index, and no others that NETRC has") {
  SourceFixture fixture(R"(
import os
facts["credentials"] = open(os.environ["NETRC"]).read() if "NETRC" in os.environ else None
)");
  fixture.root.write("netrc",
                     "machine 127.0.0.1 login me password of-the-index\n"
                     "machine elsewhere.example login me password of-another\n"
                     "default login anyone password of-all\n");
  ::setenv("NETRC", (fixture.root.path() / "netrc").c_str(), 1);
  const ScopeExit unset([] { ::unsetenv("NETRC"); });
  std::string expected;
  SUBCASE("of its index") {
    fixture.options.build.pip.index_url = "http://127.0.0.1:1/simple";
    fixture.options.build.pip.no_index = false;
    expected = "machine 127.0.0.1 login me password of-the-index\n";
  }
  SUBCASE("none without an index") { fixture.options.build.pip.no_index = true; }
  const json::object facts = fixture.facts();
  CHECK(facts.at("credentials") ==
        (expected.empty() ? json::value(nullptr) : json::value(expected)));
}

TEST_CASE("what a build leaves belongs to the user that runs Hearth and is no set-uid program") {
  SourceFixture fixture(R"(
import os
for name, mode in (("plain", 0o666), ("setuid", 0o4777), ("setgid", 0o2777)):
    path = "/hearth/build/packages/" + name
    open(path, "w").write("x")
    os.chmod(path, mode & 0o777)
    try:
        os.chmod(path, mode)
    except OSError:
        pass
)");
  const Environment environment = fixture.ensure();
  for (const auto& entry : fs::recursive_directory_iterator(fixture.place())) {
    struct stat facts{};
    REQUIRE(::lstat(entry.path().c_str(), &facts) == 0);
    INFO(entry.path().string());
    CHECK(facts.st_uid == ::geteuid());
    CHECK(facts.st_gid == ::getegid());
    CHECK((facts.st_mode & 07022) == 0);
  }
  CHECK(fs::exists(environment.packages / "setuid"));
}

TEST_CASE("a build that leaves a link or a pipe among its packages fails and leaves nothing") {
  std::string code;
  SUBCASE("a link to a file") { code = "os.symlink('/etc/shadow', '/hearth/build/packages/odd')"; }
  SUBCASE("a pipe") { code = "os.mkfifo('/hearth/build/packages/odd')"; }
  SUBCASE("a link in a directory") {
    code =
        "os.mkdir('/hearth/build/packages/d'); os.symlink('../..', '/hearth/build/packages/d/odd')";
  }
  SourceFixture fixture("import os; " + code);
  const std::string what = fixture.failure().what();
  INFO(what);
  CHECK(what.find("what was installed cannot be taken over: ") != std::string::npos);
  CHECK(what.find("odd is ") != std::string::npos);
  CHECK_FALSE(fs::exists(fixture.place()));
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a build that puts a link in the place of its packages leads nowhere") {
  SourceFixture fixture(R"(
import os
os.rename("/hearth/build/packages", "/hearth/build/elsewhere")
os.symlink("/etc", "/hearth/build/packages")
)");
  CHECK_THROWS_AS(fixture.ensure(), Error);
  CHECK_FALSE(fs::exists(fixture.place()));
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a build whose directories cannot be entered is removed all the same") {
  SourceFixture fixture(R"(
import os
os.makedirs("/hearth/build/home/a/b/c")
for path in ("a/b/c", "a/b", "a"): os.chmod("/hearth/build/home/" + path, 0)
raise SystemExit(1)
)");
  fixture.failure();
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a daemon that a build starts does not outlive it") {
  Fixture fixture;
  const fs::path shown = show_directory(fixture);
  const test::Fifo fifo(shown / "fifo");
  fixture.options.build.pip.allow_source_builds = true;
  test::write_source_archive(fixture.wheels(), "evil", R"(
import os, time
mine, its = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        os.open(")" + shown.string() + R"(/fifo", os.O_WRONLY)
        os.write(its, b"x")
        time.sleep(1000)
    os._exit(0)
os.read(mine, 1)
)");
  fixture.add_sandbox({"evil"});
  fixture.ensure();
  CHECK(fifo.has_no_writer());
}

TEST_CASE("a build that never ends is ended by its time limit") {
  SourceFixture fixture("import time; time.sleep(1000)");
  fixture.options.build.build_timeout = 5s;
  CHECK(std::string(fixture.failure().what()) ==
        "build the environment of blueprint \"box\": it took longer than 5 seconds "
        "(build_timeout_sec in [builder] of hearth.toml)");
  CHECK(fixture.left_over().empty());
}

TEST_CASE("a build that eats memory is ended by its limit") {
  SourceFixture fixture(
      "kept = bytearray(1 << 30)\nfor at in range(0, 1 << 30, 4096): kept[at] = 1");
  fixture.options.build.limits.memory_mb = 256;
  CHECK(std::string(fixture.failure().what()).find("it needed more than 256 MB of memory") !=
        std::string::npos);
}
