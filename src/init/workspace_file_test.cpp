#include "init/workspace_file.h"

#include "init/wipe.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace hearth;
namespace fs = std::filesystem;

namespace {

struct Workspace {
  test::TemporaryDirectory directory;

  fs::path at(const std::string& name) const { return directory.path() / name; }
  std::string write(const wire::WriteFileRequest& request) const {
    return init::write_workspace_file(directory.path(), request);
  }
  std::string write(const std::string& path, const std::string& data) const {
    return write(wire::WriteFileRequest{.path = path, .data = data});
  }
  std::string append(const std::string& path, const std::string& data) const {
    return write(wire::WriteFileRequest{.path = path, .data = data, .append = true});
  }
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::symlink_status(path).permissions() & fs::perms::mask);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Beyond a limit on their size, writing to files fails as it does on a full disk.
class ResourceLimit {
 public:
  ResourceLimit(__rlimit_resource resource, rlim_t limit)
      : resource_(resource), handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(resource_, &before_);
    const rlimit limited{limit, before_.rlim_max};
    ::setrlimit(resource_, &limited);
  }
  ~ResourceLimit() {
    ::setrlimit(resource_, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("a file is written byte by byte as it came, with the directories it needs") {
  const Workspace workspace;
  const std::string bytes("\0\n\xff\r\x1a", 5);
  const mode_t umask_before = ::umask(022);
  CHECK(workspace.write("a/b/c.bin", bytes) == "");
  ::umask(umask_before);
  CHECK(content_of(workspace.at("a/b/c.bin")) == bytes);
  CHECK(mode_of(workspace.at("a")) == 0755);
  CHECK(mode_of(workspace.at("a/b")) == 0755);
  CHECK(workspace.write("a/empty", "") == "");
  CHECK(content_of(workspace.at("a/empty")) == "");
}

TEST_CASE("a file gets its mode whatever the mask, and never more than permissions") {
  const Workspace workspace;
  for (const auto& [wanted, given] : {std::pair{0666U, 0666U}, std::pair{0107777U, 0777U},
                                      std::pair{06755U, 0755U}, std::pair{0U, 0U}}) {
    CHECK(workspace.write({.path = "f", .data = "x", .mode = wanted}) == "");
    CHECK(mode_of(workspace.at("f")) == given);
  }
}

TEST_CASE("a file that is there is replaced, or added to on request") {
  const Workspace workspace;
  workspace.directory.write("f", "what a script left, and long");
  CHECK(workspace.write("f", "one") == "");
  CHECK(workspace.append("f", ", two") == "");
  CHECK(content_of(workspace.at("f")) == "one, two");
  CHECK(workspace.append("f", "") == "");
  CHECK(content_of(workspace.at("f")) == "one, two");
  CHECK(workspace.write("f", "") == "");
  CHECK(content_of(workspace.at("f")) == "");
}

TEST_CASE("adding to a file that is not there is an error and makes none") {
  const Workspace workspace;
  CHECK(contains(workspace.append("f", "the second half"), "f: No such file"));
  CHECK_FALSE(fs::exists(workspace.at("f")));
}

TEST_CASE("no link is followed, wherever in the path it stands") {
  const test::TemporaryDirectory outside;
  outside.write("kept", "precious");
  const Workspace workspace;
  fs::create_directory(workspace.at("a"));
  fs::create_directory_symlink(outside.path(), workspace.at("a/out"));
  fs::create_directory_symlink("a", workspace.at("inside"));
  fs::create_symlink(outside.path() / "kept", workspace.at("a/file"));
  fs::create_symlink(outside.path() / "new", workspace.at("dangling"));
  fs::create_symlink("loop", workspace.at("loop"));

  for (const std::string path : {"a/out/kept", "a/out/new", "a/out/sub/new", "inside/new", "a/file",
                                 "dangling", "loop", "loop/new", "a/out"})
    for (const bool append : {false, true}) {
      CAPTURE(path);
      const std::string error =
          workspace.write({.path = path, .data = "changed", .append = append});
      CHECK(contains(error, path));
    }
  CHECK(content_of(outside.path() / "kept") == "precious");
  CHECK(std::distance(fs::directory_iterator(outside.path()), {}) == 1);
  CHECK_FALSE(fs::exists(workspace.at("a/new")));
  for (const std::string link : {"a/out", "inside", "a/file", "dangling", "loop"})
    CHECK(fs::is_symlink(workspace.at(link)));
  CHECK(contains(workspace.write("a/file", ""), "it is a symbolic link"));
  CHECK(contains(workspace.write("a/out/new", ""), "a/out: Not a directory"));

  fs::create_directory_symlink(outside.path(), workspace.at("root"));
  CHECK(init::write_workspace_file(workspace.at("root"), {.path = "new", .data = ""}) != "");
}

TEST_CASE("what is no regular file stays as it is, and writing to it does not block") {
  const Workspace workspace;
  fs::create_directory(workspace.at("directory"));
  workspace.directory.write("file", "kept");
  REQUIRE(::mkfifo(workspace.at("fifo").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(workspace.at("read").c_str(), 0600) == 0);
  const int reader = ::open(workspace.at("read").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  workspace.at("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);

  CHECK(contains(workspace.write("directory", "x"), "directory: Is a directory"));
  CHECK(contains(workspace.write("file/below", "x"), "file: Not a directory"));
  for (const std::string name : {"fifo", "read", "socket"}) {
    CAPTURE(name);
    CHECK(contains(workspace.write(name, "x"), name + ": it is not a regular file"));
    CHECK(contains(workspace.append(name, "x"), name + ": it is not a regular file"));
    CHECK(fs::exists(workspace.at(name)));
  }
  CHECK(content_of(workspace.at("file")) == "kept");
  ::close(reader);
  ::close(socket);
}

TEST_CASE("a component longer than any name is an error") {
  const Workspace workspace;
  const std::string name(256, 'n');
  CHECK(contains(workspace.write(name, "x"), "File name too long"));
  CHECK(contains(workspace.write(name + "/f", "x"), "File name too long"));
}

TEST_CASE("a path of thousands of components needs no more descriptors than a short one") {
  const Workspace workspace;
  const ResourceLimit limit(RLIMIT_NOFILE, 64);
  std::string path;
  for (int level = 0; level < 2047; ++level) path += "d/";
  CHECK(workspace.write(path + "f", "x") == "");
  CHECK(workspace.append(path + "f", "y") == "");
  CHECK(init::wipe_directory(workspace.directory.path(), 0700).empty());
}

TEST_CASE("a file that cannot be written to its end is removed, earlier pieces included") {
  const Workspace workspace;
  workspace.directory.write("old", "x");
  const std::string half(60, 'x');
  std::vector<std::string> errors;
  {
    // What doctest prints may go to a file, too: nothing is checked in here.
    const ResourceLimit limit(RLIMIT_FSIZE, 100);
    errors = {workspace.write("made/new", half + half), workspace.write("old", half + half),
              workspace.write("pieces", half), workspace.append("pieces", half),
              workspace.write("fits", half)};
  }
  CHECK(errors == std::vector<std::string>{"cannot write made/new: File too large",
                                           "cannot write old: File too large", "",
                                           "cannot write pieces: File too large", ""});
  for (const std::string name : {"made/new", "old", "pieces"})
    CHECK_FALSE(fs::exists(workspace.at(name)));
  CHECK(content_of(workspace.at("fits")) == half);
}
