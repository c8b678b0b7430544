#include "os/trusted_path.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

using namespace hearth;
using os::PathRole;
namespace fs = std::filesystem;

namespace {

constexpr os::User root{0, 0};
constexpr os::User ann{1000, 1000};
constexpr mode_t file = S_IFREG;
constexpr mode_t directory = S_IFDIR;

// Empty if it is trusted.
std::string reason(const os::User& user, mode_t mode, uid_t uid, gid_t gid,
                   PathRole role = PathRole::target) {
  struct stat facts{};
  facts.st_mode = mode;
  facts.st_uid = uid;
  facts.st_gid = gid;
  const auto found = os::distrust_of("/x", facts, user, role);
  return found ? found->what() : "";
}

std::string refusal(const fs::path& path) {
  const auto found = os::distrust_of(path);
  return found ? found->what() : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Only root can give a file away.
constexpr uid_t stranger = 65534;
void give_away(const fs::path& path) { REQUIRE(::lchown(path.c_str(), stranger, stranger) == 0); }

}  // namespace

TEST_CASE("what belongs to the user or to root and is written by no one else is trusted") {
  CHECK(reason(root, file | 0644, 0, 0).empty());
  CHECK(reason(ann, file | 0644, 0, 0).empty());
  CHECK(reason(ann, file | 0600, 1000, 1000).empty());
  CHECK(reason(root, directory | 0755, 0, 50).empty());
}

TEST_CASE("a program that was searched is not run where every user can write") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "bin");
  folder.write("bin/python3.19", "");
  const fs::path program = folder.path() / "bin/python3.19";
  const auto refused = [&](const fs::path& path, mode_t mode, mode_t usual) {
    ::chmod(path.c_str(), mode);
    const auto reason = os::distrust_of_found_program(program);
    ::chmod(path.c_str(), usual);
    return reason && contains(reason->what(), "every user can write it");
  };
  CHECK_FALSE(os::distrust_of_found_program(program));
  CHECK(refused(program, 0757, 0755));
  CHECK(refused(program.parent_path(), 0777, 0755));
  CHECK(refused(program.parent_path(), 01777, 0755));
  CHECK_FALSE(refused(program.parent_path(), 0775, 0755));
}

TEST_CASE("a program is searched in absolute directories that not every user can write") {
  const test::TemporaryDirectory folder;
  const fs::path bin = folder.path() / "bin";
  fs::create_directories(bin);
  folder.write("bin/odd-program", "#!/bin/sh\n");
  fs::permissions(bin / "odd-program", fs::perms(0755));
  const std::string usual = std::getenv("PATH");
  const fs::path here = fs::current_path();
  fs::current_path(bin);  // a repository, say
  const auto found_in = [](const std::string& path) {
    ::setenv("PATH", path.c_str(), 1);
    return os::find_program("odd-program");
  };
  CHECK(found_in("/usr/bin:" + bin.string()) == bin / "odd-program");
  for (const char* relative : {".", "", ":/usr/bin", "/usr/bin:", "../bin", "./:/bin"}) {
    CAPTURE(relative);
    CHECK_FALSE(found_in(relative));
  }
  fs::permissions(bin, fs::perms(0777));
  CHECK_FALSE(found_in(bin));
  ::setenv("PATH", usual.c_str(), 1);
  fs::current_path(here);
}

TEST_CASE("what belongs to another user is refused with the owner and the command") {
  CHECK(reason(root, file | 0600, 1001, 0) ==
        "trust /x: it belongs to user 1001, not to root. If what is there is good: chown root /x");
  CHECK(reason(ann, file | 0600, 1001, 1000) ==
        "trust /x: it belongs to user 1001, not to root or user 1000. If what is there is good: "
        "chown 1000 /x");
  CHECK_FALSE(reason(root, S_IFLNK | 0777, 1001, 0).empty());
}

TEST_CASE("no user is told to take another person's home, only what is needed out of it") {
  const std::string said = reason(root, directory | 0755, 1001, 0, PathRole::on_the_way);
  CHECK(contains(said, "If what is there is good: copy what is needed to a directory of root"));
  CHECK_FALSE(contains(said, "chown"));
}

TEST_CASE("what others can write is refused, but an ordinary user's own group may write") {
  CHECK(reason(root, file | 0666, 0, 0) ==
        "trust /x: other users can write it (mode 0666). If what is there is good: chmod go-w /x");
  CHECK_FALSE(reason(root, file | 0664, 0, 0).empty());
  CHECK(reason(ann, directory | 0775, 1000, 1000).empty());
  CHECK_FALSE(reason(ann, directory | 0775, 1000, 50).empty());
  CHECK(contains(reason(ann, directory | 0777, 1000, 1000), "chmod o-w /x"));
}

TEST_CASE("a sticky directory that all can write is passed, but not used") {
  CHECK(reason(root, directory | 01777, 0, 0, PathRole::on_the_way).empty());
  CHECK_FALSE(reason(root, directory | 01777, 0, 0).empty());
  CHECK_FALSE(reason(root, directory | 0777, 0, 0, PathRole::on_the_way).empty());
  CHECK_FALSE(reason(root, directory | 01777, 1001, 0, PathRole::on_the_way).empty());
}

TEST_CASE("a file is read if every directory on its way is trusted") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "a/b");
  folder.write("a/b/file", "content");
  const fs::path path = folder.path() / "a/b/file";
  CHECK(os::read_trusted_file(path, 100) == "content");
  CHECK(os::read_trusted_file(folder.path() / "a/./b/../b//file", 100) == "content");

  ::chmod((folder.path() / "a").c_str(), 0777);
  CHECK_THROWS_AS(os::read_trusted_file(path, 100), os::UntrustedPath);
  CHECK(contains(refusal(path), "trust " + (folder.path() / "a").string() + ": other users"));
  ::chmod((folder.path() / "a").c_str(), 01777);
  CHECK(refusal(path).empty());
}

TEST_CASE("a symbolic link is trusted if its target is, and the directories of both are") {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "links");
  fs::create_directories(folder.path() / "targets");
  folder.write("targets/file", "content");
  fs::create_symlink("../targets/file", folder.path() / "links/relative");
  fs::create_symlink(folder.path() / "targets", folder.path() / "links/absolute");
  CHECK(os::read_trusted_file(folder.path() / "links/relative", 100) == "content");
  CHECK(os::read_trusted_file(folder.path() / "links/absolute/file", 100) == "content");

  for (const char* open : {"links", "targets", "targets/file"}) {
    INFO(open);
    const fs::path path = folder.path() / open;
    const mode_t before = fs::is_directory(path) ? 0755 : 0644;
    ::chmod(path.c_str(), 0777);
    CHECK(contains(refusal(folder.path() / "links/relative"), "trust " + path.string() + ": "));
    CHECK(
        contains(refusal(folder.path() / "links/absolute/file"), "trust " + path.string() + ": "));
    ::chmod(path.c_str(), before);
  }
}

TEST_CASE("links that lead in a circle, and files that are not there, are errors of the system") {
  const test::TemporaryDirectory folder;
  fs::create_symlink("circle", folder.path() / "circle");
  folder.write("file", "");
  const std::string path = folder.path().string();
  CHECK_THROWS_WITH_AS(os::read_trusted_file(path + "/circle", 1),
                       ("read " + path + "/circle: Too many levels of symbolic links").c_str(),
                       OsError);
  CHECK_THROWS_WITH_AS(os::read_trusted_file(path + "/none", 1),
                       ("read " + path + "/none: No such file or directory").c_str(), OsError);
  CHECK_THROWS_WITH_AS(os::open_trusted(path + "/file/x", O_RDONLY),
                       ("open " + path + "/file/x: Not a directory").c_str(), OsError);
}

TEST_CASE("a pipe that was given to this process, and a device, are read") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  REQUIRE(::write(ends[1], "piped", 5) == 5);
  ::close(ends[1]);
  CHECK(os::read_trusted_file("/dev/fd/" + std::to_string(ends[0]), 100) == "piped");
  ::close(ends[0]);
  CHECK(os::read_trusted_file("/dev/null", 100).empty());
}

TEST_CASE("a FIFO or a socket in a directory is refused at once, not waited for") {
  const test::TemporaryDirectory folder;
  const fs::path fifo = folder.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_symlink("fifo", folder.path() / "link");
  REQUIRE(::mknod((folder.path() / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
  for (const char* name : {"fifo", "link"}) {
    const std::string path = (folder.path() / name).string();
    CHECK_THROWS_WITH_AS(os::read_trusted_file(path, 100),
                         ("read " + path + ": it is no regular file").c_str(), Error);
    CHECK_THROWS_AS(os::open_trusted(path, O_RDONLY), Error);
  }
  CHECK_THROWS_AS(os::read_trusted_file(folder.path() / "socket", 100), Error);
}

TEST_CASE("a FIFO that was given to this process is read") {
  const test::TemporaryDirectory folder;
  const fs::path fifo = folder.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const os::UniqueFd given(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::write(given.get(), "piped", 5) == 5);
  const std::string path = "/dev/fd/" + std::to_string(given.get());
  CHECK_THROWS_WITH_AS(os::read_trusted_file(path, 4),
                       ("read " + path + ": larger than 4 bytes").c_str(), Error);
}

TEST_CASE("directories are made with their mode, whatever the umask") {
  const test::TemporaryDirectory folder;
  const mode_t before = ::umask(0077);
  os::make_trusted_directory(folder.path() / "a/b/", 0755);
  os::make_private_directory(folder.path() / "a/c");
  ::umask(before);
  const auto mode = [&](const char* name) {
    return fs::status(folder.path() / name).permissions() & fs::perms::mask;
  };
  CHECK(mode("a") == fs::perms(0755));
  CHECK(mode("a/b") == fs::perms(0755));
  CHECK(mode("a/c") == fs::perms(0700));

  ::chmod((folder.path() / "a/c").c_str(), 0755);
  os::make_private_directory(folder.path() / "a/c");
  CHECK(mode("a/c") == fs::perms(0700));
  ::chmod((folder.path() / "a/b").c_str(), 0777);
  CHECK_THROWS_AS(os::make_trusted_directory(folder.path() / "a/b/c", 0755), os::UntrustedPath);
}

TEST_CASE("what another user made is refused, wherever it stands" *
          doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "sticky/planted");
  ::chmod((folder.path() / "sticky").c_str(), 01777);
  folder.write("sticky/planted/file", "");
  folder.write("good", "");
  fs::create_symlink(folder.path() / "good", folder.path() / "sticky/link");
  give_away(folder.path() / "sticky/planted");
  give_away(folder.path() / "sticky/link");
  CHECK(contains(refusal(folder.path() / "sticky/planted/file"), "/sticky/planted: it belongs to"));
  CHECK(contains(refusal(folder.path() / "sticky/link"), "/sticky/link: it belongs to user 65534"));
  CHECK_THROWS_AS(os::make_private_directory(folder.path() / "sticky/planted"), os::UntrustedPath);

  fs::create_directories(folder.path() / "wheels");
  folder.write("wheels/one.whl", "");
  os::require_trusted_files(folder.path() / "wheels");
  give_away(folder.path() / "wheels/one.whl");
  CHECK_THROWS_AS(os::require_trusted_files(folder.path() / "wheels"), os::UntrustedPath);
}

TEST_CASE("root mistrusts a Python where another user can put or has put a pyvenv.cfg" *
          doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  fs::create_directories(folder.path() / "home/bin");
  fs::create_directories(folder.path() / "links/bin");
  folder.write("home/bin/python3", "");
  const fs::path python = folder.path() / "home/bin/python3";
  const fs::path link = folder.path() / "links/bin/python3";
  fs::create_symlink(python, link);
  const auto trusts = [&](const fs::path& program) { return !os::distrust_of_python(program); };
  CHECK(trusts(python));
  CHECK(trusts(link));
  // Below /tmp itself, where everyone may write.
  folder.write("python3", "");
  CHECK_FALSE(trusts(folder.path() / "python3"));

  for (const char* name : {"home", "home/bin"}) {
    INFO(name);
    ::chmod((folder.path() / name).c_str(), 01777);
    CHECK_FALSE(trusts(python));
    CHECK_FALSE(trusts(link));
    ::chmod((folder.path() / name).c_str(), 0755);
    folder.write(name + std::string("/pyvenv.cfg"), "");
    CHECK(trusts(python));
    give_away(folder.path() / name / "pyvenv.cfg");
    CHECK_FALSE(trusts(python));
    CHECK_FALSE(trusts(link));
    fs::remove(folder.path() / name / "pyvenv.cfg");
  }
  ::chmod((folder.path() / "links").c_str(), 01777);
  CHECK(trusts(python));
  CHECK_FALSE(trusts(link));
}

TEST_CASE("root mistrusts a Python whose library another user could have written" *
          doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  for (const char* name : {"venv/bin", "real/bin", "real/lib/python3.11/encodings"})
    fs::create_directories(folder.path() / name);
  folder.write("venv/bin/python3", "");
  folder.write("real/lib/python3.11/os.py", "");
  const fs::path python = folder.path() / "venv/bin/python3";
  const std::string home = (folder.path() / "real/bin").string();
  for (const std::string& line :
       {"home = " + home, " home=" + home, "a = b\nhome\t= " + home + " \r\nhome = /usr/bin"}) {
    INFO(line);
    folder.write("venv/pyvenv.cfg", line);
    CHECK_FALSE(os::distrust_of_python(python));
    for (const char* name : {"real", "real/bin", "real/lib", "real/lib/python3.11",
                             "real/lib/python3.11/os.py", "real/lib/python3.11/encodings"}) {
      INFO(name);
      give_away(folder.path() / name);
      const auto reason = os::distrust_of_python(python);
      REQUIRE(reason);
      CHECK(reason->path == folder.path() / name);
      REQUIRE(::lchown((folder.path() / name).c_str(), 0, 0) == 0);
    }
  }
  folder.write("venv/pyvenv.cfg", "home = no/such/directory\n");
  CHECK(os::distrust_of_python(python));
}

TEST_CASE("what cannot be looked at is not trusted") {
  const test::TemporaryDirectory folder;
  CHECK(os::distrust_of(folder.path() / "gone"));
  CHECK(os::distrust_of(folder.path() / "no" / "such" / "directory"));
}

TEST_CASE("a path is resolved by links of this user and of root, to its end or what is missing") {
  const test::TemporaryDirectory folder;
  const fs::path here = fs::canonical(folder.path());
  fs::create_directories(here / "real/sub");
  folder.write("real/sub/file", "");
  fs::create_symlink("real", here / "relative");
  fs::create_symlink(here / "relative/sub", here / "absolute");
  fs::create_symlink("gone", here / "dangling");
  for (const auto resolve : {os::resolve_trusted_links, os::resolve_trusted_way}) {
    CHECK(resolve(here / "real/sub") == here / "real/sub");
    CHECK(resolve(here / "relative/sub/") == here / "real/sub");
    CHECK(resolve(here / "absolute/file") == here / "real/sub/file");
    CHECK(resolve(here / "absolute/new/name") == here / "real/sub/new/name");
    CHECK(resolve(here / "dangling/name") == here / "gone/name");
    CHECK(resolve("/") == "/");
    CHECK_THROWS_AS(resolve("/proc/self/cwd"), os::UntrustedPath);
    CHECK_THROWS_AS(resolve(here / "real/sub/file/x"), OsError);
  }
}

TEST_CASE("a path that others can exchange is resolved only without trust in its way") {
  const test::TemporaryDirectory folder;
  const fs::path here = fs::canonical(folder.path());
  fs::create_directories(here / "open/data");
  ::chmod((here / "open/data").c_str(), 0777);
  CHECK(os::resolve_trusted_way(here / "open/data") == here / "open/data");
  ::chmod((here / "open").c_str(), 01777);
  CHECK(os::resolve_trusted_way(here / "open/data") == here / "open/data");
  // Another user could create it.
  CHECK_THROWS_AS(os::resolve_trusted_way(here / "open/missing"), os::UntrustedPath);
  CHECK(os::resolve_trusted_links(here / "open/missing") == here / "open/missing");
  ::chmod((here / "open").c_str(), 0777);
  CHECK_THROWS_AS(os::resolve_trusted_way(here / "open/data"), os::UntrustedPath);
  CHECK(os::resolve_trusted_links(here / "open/data") == here / "open/data");
}

TEST_CASE("a path is not resolved by a link of another user" * doctest::skip(::geteuid() != 0)) {
  const test::TemporaryDirectory folder;
  const fs::path here = fs::canonical(folder.path());
  fs::create_directories(here / "stranger/data");
  fs::create_symlink("/root", here / "stranger/link");
  for (const char* name : {"stranger", "stranger/data", "stranger/link"}) give_away(here / name);
  for (const char* name : {"stranger/link", "stranger/link/below"})
    CHECK_THROWS_WITH_AS(os::resolve_trusted_links(here / name),
                         ("trust " + (here / "stranger/link").string() +
                          ": it belongs to user 65534, not to root. If what is there is good: "
                          "chown -h root " +
                          (here / "stranger/link").string())
                             .c_str(),
                         os::UntrustedPath);
  CHECK(os::resolve_trusted_links(here / "stranger/data") == here / "stranger/data");
  CHECK_THROWS_AS(os::resolve_trusted_way(here / "stranger/data"), os::UntrustedPath);

  // What is mounted may be any user's, unless that user can exchange it.
  fs::create_directories(here / "mine/theirs");
  give_away(here / "mine/theirs");
  CHECK(os::resolve_trusted_way(here / "mine/theirs") == here / "mine/theirs");
  ::chmod((here / "mine").c_str(), 01777);
  CHECK_THROWS_AS(os::resolve_trusted_way(here / "mine/theirs"), os::UntrustedPath);
}
