// A directory as a stream of entries, with what a script may have put into it.
#include "files/directory_tree.h"

#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

using namespace hearth;
using namespace hearth::files;
using wire::FileKind;
using wire::FileProblem;
namespace fs = std::filesystem;

namespace {

struct Seen {
  wire::FileEntry entry;
  std::string content;
};

// By path. `on_entry` is called before the bytes of each are read.
std::map<std::string, Seen> all_of(
    const fs::path& top, const std::function<void(const std::string&)>& on_entry = [](auto&) {}) {
  DirectoryTree tree(open_directory(AT_FDCWD, top.c_str()), ClosedFiles::are_opened);
  std::map<std::string, Seen> seen;
  std::array<char, 3> piece{};
  while (const auto entry = tree.next()) {
    const std::size_t slash = entry->path.rfind('/');
    if (slash != std::string::npos) REQUIRE(seen.contains(entry->path.substr(0, slash)));
    on_entry(entry->path);
    Seen one{*entry, {}};
    for (std::size_t got = tree.read(piece); got > 0; got = tree.read(piece))
      one.content.append(piece.data(), got);
    REQUIRE(seen.emplace(entry->path, one).second);
  }
  return seen;
}

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const FileFailure& failure) {
    return std::string(enum_name(failure.problem));
  }
  return "none";
}

struct Top {
  test::TemporaryDirectory directory;
  fs::path at(const std::string& name) const { return directory.path() / name; }
  void write(const std::string& name, const std::string& content) const {
    directory.write(name, content);
  }
};

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::symlink_status(path).permissions() & fs::perms::mask);
}

}  // namespace

TEST_CASE("a tree has each file, directory and link with what it is, and special files by name") {
  const Top top;
  fs::create_directories(top.at("d/e"));
  top.write("d/e/f", "content");
  top.write("empty", "");
  ::chmod(top.at("d/e/f").c_str(), 04750);
  fs::create_symlink("/etc/passwd", top.at("d/link"));
  fs::create_directory_symlink("..", top.at("d/loop"));
  REQUIRE(::mkfifo(top.at("pipe").c_str(), 0600) == 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  top.at("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
  const timespec times[2] = {{1, 500}, {1, 500}};
  ::utimensat(AT_FDCWD, top.at("d/e/f").c_str(), times, 0);

  const auto seen = all_of(top.directory.path());
  CHECK(seen.size() == 8);
  CHECK(seen.at("d").entry.kind == FileKind::directory);
  CHECK(seen.at("d").entry.size_bytes == 0);
  CHECK(seen.at("d/e/f").entry ==
        wire::FileEntry{"d/e/f", FileKind::file, 7, 04750, 1'000'000'500});
  CHECK(seen.at("d/e/f").content == "content");
  CHECK(seen.at("empty").content.empty());
  CHECK(seen.at("d/link").entry.target == "/etc/passwd");
  CHECK(seen.at("d/loop").entry.kind == FileKind::symlink);
  CHECK(seen.at("pipe").entry.kind == FileKind::other);
  CHECK(seen.at("socket").entry.kind == FileKind::other);
}

TEST_CASE("what its owner closed for itself is read, and closed again") {
  const Top top;
  fs::create_directories(top.at("shut/in/er"));
  top.write("shut/in/er/f", "kept");
  top.write("shut/g", "too");
  ::chmod(top.at("shut/in/er/f").c_str(), 0);
  for (const char* name : {"shut/in/er", "shut/in", "shut"}) ::chmod(top.at(name).c_str(), 0);
  const auto seen = all_of(top.directory.path());
  CHECK(seen.at("shut/in/er/f").content == "kept");
  CHECK(seen.at("shut/in/er/f").entry.mode == 0);
  CHECK(seen.at("shut/in").entry.mode == 0);
  CHECK(mode_of(top.at("shut")) == 0);
  ::chmod(top.at("shut").c_str(), 0700);
  CHECK(mode_of(top.at("shut/in")) == 0);
  ::chmod(top.at("shut/in").c_str(), 0700);
  CHECK(mode_of(top.at("shut/in/er")) == 0);
  {  // abandoned inside of it
    ::chmod(top.at("shut").c_str(), 0);
    DirectoryTree tree(open_directory(AT_FDCWD, top.directory.path().c_str()),
                       ClosedFiles::are_opened);
    while (tree.next()->path != "shut/in/er") {
    }
    CHECK(mode_of(top.at("shut")) == 0500);
  }
  CHECK(mode_of(top.at("shut")) == 0);
  ::chmod(top.at("shut").c_str(), 0700);
  ::chmod(top.at("shut/in/er").c_str(), 0700);
}

TEST_CASE("a file that changes while it is read is an error, one that is replaced is not") {
  const Top top;
  top.write("f", "some content");
  CHECK(problem_of([&] {
          all_of(top.directory.path(), [&](auto&) { top.write("f", "some other content"); });
        }) == "changed");
  CHECK(problem_of([&] {
          all_of(top.directory.path(), [&](auto&) { fs::resize_file(top.at("f"), 1); });
        }) == "changed");
  top.write("f", "as it was");
  const auto seen = all_of(top.directory.path(), [&](auto&) {
    top.write("new", "another");
    fs::rename(top.at("new"), top.at("f"));
  });
  CHECK(seen.at("f").content == "as it was");
}

TEST_CASE("a directory that is moved while the tree is in it is an error") {
  const Top top;
  fs::create_directories(top.at("a/b"));
  fs::create_directories(top.at("c"));
  CHECK(problem_of([&] {
          all_of(top.directory.path(), [&](const std::string& path) {
            if (path == "a/b") fs::rename(top.at("a/b"), top.at("c/b"));
          });
        }) == "changed");
}

TEST_CASE("a tree deeper than a path can say is an error, and takes one descriptor") {
  const Top top;
  os::UniqueFd at = open_directory(AT_FDCWD, top.directory.path().c_str());
  for (int level = 0; level < 2500; ++level) {
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at = open_directory(at.get(), "d");
    REQUIRE(at);
  }
  CHECK(problem_of([&] {
          DirectoryTree tree(open_directory(AT_FDCWD, top.directory.path().c_str()),
                             ClosedFiles::are_opened);
          while (tree.next()) {
          }
        }) == "too_large");
}
