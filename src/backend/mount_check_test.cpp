#include "backend/mount_check.h"

#include "base/error.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

namespace hearth::backend {
namespace {

constexpr const char* mount_table =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 27 0:30 / /srv/old\\040root/proc rw shared:2 master:1 - proc proc rw\n"
    "31 27 0:31 / /srv/groups rw - cgroup2 cgroup2 rw\n";
constexpr const char* sockets =
    "Num       RefCount Protocol Flags    Type St Inode Path\n"
    "0000: 00000002 00000000 00010000 0001 01 1 /opt/engine/docker.sock\n"
    "0000: 00000002 00000000 00010000 0001 01 2 /opt/web/app.sock\n"
    "0000: 00000002 00000000 00010000 0001 01 3 @abstract\n"
    "0000: 00000002 00000000 00010000 0001 01 4 @/srv/data/docker.sock\n"
    "0000: 00000002 00000000 00010000 0001 01 5 /opt/my engine/podman.sock\n";

std::string problem(const std::string& source) {
  return problem_of_mount(source, {"/srv/state", "/srv/engine/e.sock"}, mount_table,
                          listed_engines(sockets));
}

std::string resolved(const std::string& source, Mounter mounter) {
  return resolve_mounts({{source, "/data", true}}, {}, mounter).front().source;
}

bool is_refused(const std::string& source, const std::vector<std::string>& hidden = {},
                Mounter mounter = Mounter::hearth) {
  try {
    resolve_mounts({{source, "/data", true}}, hidden, mounter);
    return false;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("the mount of " + source + " is refused: it "));
    return true;
  }
}

// A name in the file system behind which nothing listens any more.
void make_socket(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
}

}  // namespace

TEST_CASE("no sandbox is shown a file system of the kernel, nor a directory that holds one") {
  for (const char* source : {"/", "/proc", "/proc/1", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm",
                             "/srv", "/srv/old root", "/srv/old root/proc/1", "/srv/groups/a"})
    CHECK_MESSAGE(!problem(source).empty(), source);
  for (const char* source : {"/home", "/devices", "/srv/data", "/srv/old root/home", "/processes"})
    CHECK_MESSAGE(problem(source).empty(), source);
  CHECK(problem("/srv/groups") == "it would show a file system of the kernel (/srv/groups)");
}

TEST_CASE("no sandbox is shown a container engine's socket") {
  for (const char* source :
       {"/run", "/var", "/var/run", "/run/docker.sock", "/run/containerd", "/run/podman", "/opt",
        "/opt/engine", "/opt/engine/docker.sock", "/srv/engine", "/srv/engine/e.sock"})
    CHECK_MESSAGE(!problem(source).empty(), source);
  for (const char* source : {"/runner", "/opt/web", "/opt/engineer", "/srv/engine2", "/var/lib"})
    CHECK_MESSAGE(problem(source).empty(), source);
}

TEST_CASE("no sandbox is shown Hearth's own state") {
  CHECK(problem("/srv/state") == "it would show /srv/state, which no sandbox may see");
  CHECK_FALSE(problem("/srv/state/environments").empty());
  CHECK(problem("/srv/states").empty());
}

TEST_CASE("a mount is judged by where its links lead") {
  const test::TemporaryDirectory directory;
  const std::string here = directory.path();
  REQUIRE(::mkdir((here + "/state").c_str(), 0755) == 0);
  REQUIRE(::mkdir((here + "/data").c_str(), 0755) == 0);
  REQUIRE(::symlink("/proc", (here + "/processes").c_str()) == 0);
  REQUIRE(::symlink("state", (here + "/link").c_str()) == 0);
  const std::vector<std::string> hidden = {here + "/link"};
  for (const char* name : {"/processes", "/link", "/state", "/data/../state/new", ""})
    CHECK_MESSAGE(is_refused(here + name, hidden), name);
  CHECK_FALSE(is_refused(here + "/data", hidden));
  CHECK_FALSE(is_refused(here + "/not there", hidden));
}

TEST_CASE("what is judged is what is mounted: a source without links") {
  const test::TemporaryDirectory directory;
  const std::string here = std::filesystem::canonical(directory.path());
  REQUIRE(::mkdir((here + "/data").c_str(), 0755) == 0);
  REQUIRE(::symlink("data", (here + "/link").c_str()) == 0);
  for (const Mounter mounter : {Mounter::hearth, Mounter::engine}) {
    CHECK(resolved(here + "/link", mounter) == here + "/data");
    CHECK(resolved(here + "/link/new", mounter) == here + "/data/new");
    CHECK(is_refused("/proc/self/cwd", {}, mounter));
  }
  // The engine's machine has other links.
  const blueprint::Mount engines{here + "/link", "/data", true, true};
  CHECK(resolve_mounts({engines}, {}, Mounter::engine) == std::vector{engines});
  CHECK_THROWS_AS(resolve_mounts({engines}, {here + "/data"}, Mounter::engine), Error);
}

TEST_CASE("a link of another user leads to no mount" * doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory directory;
  const std::string here = directory.path();
  REQUIRE(::mkdir((here + "/theirs").c_str(), 0755) == 0);
  REQUIRE(::mkdir((here + "/theirs/data").c_str(), 0755) == 0);
  REQUIRE(::symlink("data", (here + "/theirs/link").c_str()) == 0);
  for (const char* name : {"/theirs", "/theirs/link"})
    REQUIRE(::lchown((here + name).c_str(), 65534, 65534) == 0);
  for (const Mounter mounter : {Mounter::hearth, Mounter::engine})
    CHECK(is_refused(here + "/theirs/link", {}, mounter));
  // An engine opens the path again, and by then it may be a link.
  CHECK_FALSE(is_refused(here + "/theirs/data"));
  CHECK(is_refused(here + "/theirs/data", {}, Mounter::engine));
  CHECK_FALSE(is_refused(here + "/theirs", {}, Mounter::engine));
}

TEST_CASE("engines' sockets are read from the kernel's list by their paths") {
  CHECK(listed_engines(sockets) ==
        std::vector<std::string>{"/opt/engine/docker.sock", "/opt/my engine/podman.sock"});
}

TEST_CASE("a name that another user put into the list of sockets refuses no mount") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path() / "docker.sock";
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  SUBCASE("an abstract name") {
    path.copy(address.sun_path + 1, sizeof address.sun_path - 2);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    CHECK_FALSE(is_refused(directory.path()));
  }
  SUBCASE("a socket that is gone again, and one that is there") {
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(is_refused(directory.path()));
    REQUIRE(::unlink(path.c_str()) == 0);
    CHECK_FALSE(is_refused(directory.path()));
  }
  SUBCASE("a socket of another user") {
    if (::geteuid() != 0) return;  // only root can give it away
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(is_refused(directory.path()));
  }
  ::close(listener);
}

TEST_CASE("sockets and devices are no mounts") {
  const test::TemporaryDirectory directory;
  const std::string here = directory.path();
  make_socket(here + "/any");
  REQUIRE(::symlink("any", (here + "/link").c_str()) == 0);
  CHECK(is_refused(here + "/any"));
  CHECK(is_refused(here + "/link"));
  CHECK(is_refused("/dev/null"));
  CHECK_FALSE(is_refused(here));
}

}  // namespace hearth::backend
