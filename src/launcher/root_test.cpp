// The new root as a child in a mount namespace of its own sees it. Needs root or user namespaces.
#include "launcher/root.h"

#include "base/error.h"
#include "launcher/namespaces.h"
#include "os/read_file.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::launcher;
namespace fs = std::filesystem;

namespace {

// What `look` returns in a child that has built the root, or the error that the child met.
std::string in_new_root(const std::vector<Step>& steps, const std::function<std::string()>& look) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      Namespaces namespaces(::geteuid() == 0 ? UidRange{100'000, 10} : UidRange{});
      namespaces.become_able_to_mount();
      build_root(steps, open_sources(steps));
      said = look();
    } catch (const std::exception& error) {
      said = error.what();
    }
    ::_exit(::write(pipe[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  ::close(pipe[1]);
  std::string said;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = ::read(pipe[0], buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(size));
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

std::string error_of(const std::vector<Step>& steps) {
  return in_new_root(steps, [] { return std::string("no error"); });
}

bool is_read_only(const char* path) {
  struct statvfs facts{};
  return ::statvfs(path, &facts) == 0 && (facts.f_flag & ST_RDONLY) != 0;
}

// A directory that another user may write, with links to where that user has no business.
struct Mounted {
  test::TemporaryDirectory outside;
  test::TemporaryDirectory data;
  test::TemporaryDirectory other;
  Mounted() {
    other.write("file", "other");
    fs::create_directory(data.path() / "directory");
    // The old root is at /old while the new one is built.
    fs::create_symlink("/old" + outside.path().string(), data.path() / "link");
  }
  Bind bind() const { return {data.path(), "/data", true}; }
};

// Exchanges a directory and a link to another place until it is stopped.
class Exchanger {
 public:
  explicit Exchanger(const fs::path& directory, const fs::path& link) : child_(::fork()) {
    while (child_ == 0)
      ::renameat2(AT_FDCWD, directory.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  }
  ~Exchanger() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Exchanger(const Exchanger&) = delete;
  Exchanger& operator=(const Exchanger&) = delete;

 private:
  pid_t child_;
};

}  // namespace

TEST_CASE("files and directories are shown at their targets, read-only or writable") {
  const test::TemporaryDirectory source;
  source.write("file", "content");
  const std::string file = source.path() / "file";
  CHECK(in_new_root({Bind{source.path(), "/a/b"}, Bind{source.path(), "/c", true},
                     Bind{file, "/d/e"}, File{"/f/g", "written"}, Directory{"/h/i"},
                     Symlink{"/f/g", "/j"}, Scratch{"/k", 1}, Devices{}},
                    [] {
                      std::string found = os::read_file("/new/a/b/file", 100) +
                                          os::read_file("/new/d/e", 100) +
                                          os::read_file("/new/f/g", 100);
                      for (const char* path : {"/new/a/b", "/new/c", "/new/d/e", "/new/k"})
                        found += is_read_only(path) ? " ro" : " rw";
                      found += fs::is_directory("/new/h/i") ? " directory" : "";
                      found += " " + fs::read_symlink("/new/j").string();
                      found += fs::is_character_file("/new/dev/null") ? " null" : "";
                      // Nothing is left where mounts are made.
                      found += fs::is_empty("/staged-directory") ? " empty" : "";
                      return found;
                    }) == "contentcontentwritten ro rw ro rw directory /f/g null empty");
}

TEST_CASE("mounts below a source are shown, too, with the same restrictions") {
  // /dev/shm is a mount of its own on most machines.
  CHECK(in_new_root({Bind{"/dev", "/devices"}}, [] {
          return std::string(is_read_only("/new/devices") ? "ro" : "rw") +
                 (is_read_only("/new/devices/shm") ? " ro" : " rw");
        }) == "ro ro");
}

TEST_CASE("no step follows a link in what is mounted, at whatever place of the path") {
  const Mounted mounted;
  const std::string other = mounted.other.path();
  const std::vector<Step> steps = {Bind{other, "/data/link/new"},
                                   Bind{other, "/data/link"},
                                   Bind{other + "/file", "/data/link/new/file"},
                                   Directory{"/data/link/new"},
                                   Symlink{"/x", "/data/link/new"},
                                   File{"/data/link/new", "text"},
                                   Scratch{"/data/link/new", 1},
                                   Scratch{"/data/link", 1}};
  for (const Step& step : steps) {
    CAPTURE(step.index());
    const std::string error = error_of({mounted.bind(), step});
    CHECK(error.find("mount at /data/link") == 0);
    CHECK(error.find(": /data/link is a link") != std::string::npos);
  }
  CHECK(error_of({mounted.bind(), Bind{other + "/file", "/data/link"}}).find("write /data/link") ==
        0);
  CHECK(fs::is_empty(mounted.outside.path()));
}

TEST_CASE("a directory that is exchanged with a link meanwhile redirects no mount") {
  const Mounted mounted;
  const Exchanger exchanger(mounted.data.path() / "directory", mounted.data.path() / "link");
  const std::string other = mounted.other.path();
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string said =
        in_new_root({mounted.bind(), Bind{other, "/data/directory/below"}}, [&] {
          return std::string(fs::is_empty("/old" + mounted.outside.path().string()) ? "in" : "out");
        });
    if (said == "in") continue;
    ++refused;
    CAPTURE(said);
    // "is a link", or "Not a directory" if it is one again by the time the error is looked into.
    REQUIRE(said.find("/data/directory") != std::string::npos);
  }
  CHECK(fs::is_empty(mounted.outside.path()));
  // Otherwise nothing was exchanged, or always in time.
  CHECK(refused > 0);
  CHECK(refused < 300);
}

TEST_CASE("interfaces of the kernel, sockets and devices are not shown") {
  CHECK(error_of({Bind{"/proc/self", "/a"}}) ==
        "bind /proc/self: it is an interface of the kernel");
  CHECK(error_of({Bind{"/dev/null", "/a"}}) == "bind /dev/null: it is a socket or a device");
}

TEST_CASE("a source that does not exist is named") {
  CHECK(error_of({Bind{"/does/not/exist", "/a"}}) ==
        "open /does/not/exist: No such file or directory");
}
