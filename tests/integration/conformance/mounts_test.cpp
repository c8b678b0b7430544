// What no sandbox is shown, on every backend.
#include "os/read_file.h"
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <type_traits>

using namespace hearth;
using namespace hearth::test;

namespace {

// What the backend says to a mount; empty if it takes it.
template <typename Backend>
std::string refusal(const std::string& source) {
  blueprint::SandboxConfig config = Backend::config();
  config.resources = {{source, "/data", true, {}}};
  try {
    Backend backend(config);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

// As a script sees it: natively it is a user of a namespace of its own.
template <typename Backend>
std::string owner_inside(const struct stat& made) {
  if (std::is_same_v<Backend, NativeBackend>) return "1000 1000\n";
  return std::to_string(made.st_uid) + ' ' + std::to_string(made.st_gid) + '\n';
}

os::UniqueFd listen_at(const std::string& path) {
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  return socket;
}

}  // namespace

TEST_CASE_TEMPLATE("file systems of the kernel are no mounts, by whatever name", Backend,
                   ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  const std::string link = directory.path() / "link";
  REQUIRE(::symlink("/proc", link.c_str()) == 0);
  for (const std::string& source :
       {std::string("/proc"), std::string("/proc/sys"), std::string("/sys"),
        std::string("/sys/fs/cgroup"), std::string("/dev"), std::string("/"), link, link + "/1"})
    CHECK_MESSAGE(refusal<Backend>(source).starts_with("the mount of " + source + " is refused"),
                  source);
}

TEST_CASE_TEMPLATE("a container engine's socket is no mount, nor is a directory that holds one",
                   Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  const std::string here = directory.path();
  const os::UniqueFd listening = listen_at(here + "/docker.sock");
  for (const std::string& source :
       {here, here + "/docker.sock", std::string("/run"), std::string("/var/run/docker.sock")})
    CHECK_MESSAGE(refusal<Backend>(source).find(" is refused: it ") != std::string::npos, source);
}

TEST_CASE_TEMPLATE("no socket is a mount", Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "any";
  const os::UniqueFd listening = listen_at(path);
  CHECK(refusal<Backend>(path) == "the mount of " + path + " is refused: it is a socket");
}

TEST_CASE_TEMPLATE("a mount that the sandbox's user cannot write is refused with the way out",
                   Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  const std::string here = directory.path();
  blueprint::SandboxConfig config = Backend::config();
  config.resources = {{here, "/data", false, {}}};
  const auto refusal = [&]() -> std::string {
    try {
      Backend backend(config);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  REQUIRE(::chmod(here.c_str(), ::geteuid() == 0 ? 0755 : 0555) == 0);
  const std::string words = refusal();
  CHECK(words.starts_with("the mount of " + here + " at /data is refused"));
  CHECK(words.find("--get or --save") != std::string::npos);
  // Read-only it is shown, and with the permissions that are advised it is written.
  config.resources.front().read_only = true;
  CHECK(refusal().empty());
  config.resources.front().read_only = false;
  REQUIRE(::chmod(here.c_str(), 0777) == 0);
  Backend backend(config);
  const auto written = backend.run("open('/data/made', 'w').write('inside')");
  CHECK(written.verdict == execution::Verdict::ok);
  CHECK(os::read_file(here + "/made", 100) == "inside");
}

TEST_CASE_TEMPLATE("what a script writes into a mount belongs to its sandbox's user" *
                       doctest::skip(::geteuid() != 0),
                   Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
  blueprint::SandboxConfig config = Backend::config();
  config.resources = {{directory.path(), "/data", false, {}}};
  Backend backend(config);
  const auto result =
      backend.run("import os\nopen('/data/made', 'w').close()\nprint(os.getuid(), os.getgid())");
  struct stat made{};
  REQUIRE(::stat((directory.path() / "made").c_str(), &made) == 0);
  CHECK(made.st_uid != 0);
  CHECK(made.st_gid != 0);
  CHECK(result.stdout_text == owner_inside<Backend>(made));
}

TEST_CASE_TEMPLATE("a link of another user leads to no mount, one of this user does" *
                       doctest::skip(::geteuid() != 0),
                   Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory directory;
  const std::string here = directory.path();
  REQUIRE(::chmod(here.c_str(), 0755) == 0);
  REQUIRE(::mkdir((here + "/data").c_str(), 0755) == 0);
  directory.write("data/word", "shown");
  REQUIRE(::symlink("data", (here + "/link").c_str()) == 0);
  blueprint::SandboxConfig config = Backend::config();
  config.resources = {{here + "/link", "/data", true, {}}};
  {
    Backend backend(config);
    CHECK(backend.run("print(open('/data/word').read())").stdout_text == "shown\n");
  }
  REQUIRE(::lchown((here + "/link").c_str(), 65534, 65534) == 0);
  CHECK(refusal<Backend>(here + "/link")
            .find(here + "/link: it belongs to user 65534, not to root") != std::string::npos);
}
