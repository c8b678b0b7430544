// What init answers to the host's requests about files: on directories of the test's own, without a
// sandbox.
#include "init/file_requests.h"

#include "base/base64.h"
#include "init/directory_listing.h"
#include "init/file_requests_fixture.h"
#include "init/wipe.h"
#include "tests/support/temporary_directory.h"
#include "wire/file_path.h"
#include "wire/protocol_error.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace hearth;
using namespace hearth::init;
namespace fs = std::filesystem;
using wire::FileProblem;

namespace {

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::symlink_status(path).permissions() & fs::perms::mask);
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

// Links in every place where one can lead out of the workspace, and things that are no files.
struct Hostile : Workspace {
  test::TemporaryDirectory outside;
  int reader = -1;
  int socket = -1;

  Hostile() {
    outside.write("kept", "precious");
    fs::create_directory(at("a"));
    fs::create_directory(at("directory"));
    directory.write("file", "kept");
    fs::create_directory_symlink(outside.path(), at("a/out"));
    fs::create_directory_symlink("a", at("inside"));
    fs::create_symlink(outside.path() / "kept", at("a/file"));
    fs::create_symlink(outside.path() / "new", at("dangling"));
    fs::create_symlink("loop", at("loop"));
    REQUIRE(::mkfifo(at("fifo").c_str(), 0600) == 0);
    REQUIRE(::mkfifo(at("read").c_str(), 0600) == 0);
    reader = ::open(at("read").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    at("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~Hostile() {
    ::close(reader);
    ::close(socket);
  }
  Hostile(const Hostile&) = delete;
  Hostile& operator=(const Hostile&) = delete;
};

// Each path that must be refused, and how.
const std::vector<std::pair<std::string, std::string>> refused_paths = {
    {"a/out/kept", "invalid_path: cannot # a/out/kept: a/out: it is a symbolic link"},
    {"a/out/sub/new", "invalid_path: cannot # a/out/sub/new: a/out: it is a symbolic link"},
    {"inside/new", "invalid_path: cannot # inside/new: inside: it is a symbolic link"},
    {"loop/new", "invalid_path: cannot # loop/new: loop: it is a symbolic link"},
    {"a/file", "invalid_path: cannot # a/file: it is a symbolic link"},
    {"a/out", "invalid_path: cannot # a/out: it is a symbolic link"},
    {"dangling", "invalid_path: cannot # dangling: it is a symbolic link"},
    {"loop", "invalid_path: cannot # loop: it is a symbolic link"},
    {"fifo", "invalid_path: cannot # fifo: it is not a regular file"},
    {"read", "invalid_path: cannot # read: it is not a regular file"},
    {"socket", "invalid_path: cannot # socket: it is not a regular file"},
    {"directory", "is_directory: cannot # directory: Is a directory"},
    {".", "is_directory: cannot # .: Is a directory"},
    {"/", "is_directory: cannot # /: Is a directory"},
    {"file/below", "not_directory: cannot # file/below: file: Not a directory"},
    {"/proc/self/mem", "invalid_path: cannot # /proc/self/mem: no request may reach this place"},
    {"/proc", "invalid_path: cannot # /proc: no request may reach this place"},
    {"/sys/kernel", "invalid_path: cannot # /sys/kernel: no request may reach this place"},
    {"/dev/tty", "invalid_path: cannot # /dev/tty: no request may reach this place"},
    {"/dev/shmem", "invalid_path: cannot # /dev/shmem: no request may reach this place"}};

std::string as_told(std::string text, const std::string& verb) {
  return text.replace(text.find('#'), 1, verb);
}

}  // namespace

TEST_CASE("a file is written byte by byte as it came, with the directories it needs") {
  Workspace workspace;
  const std::string bytes("\0\n\xff\r\x1a", 5);
  const mode_t umask_before = ::umask(022);
  const Answers answers = workspace.write(wire::WriteFile{"a/b/c.bin"}, {bytes, bytes});
  ::umask(umask_before);
  CHECK(answers.error == "");
  REQUIRE(answers.entry);
  CHECK(answers.entry->path == "a/b/c.bin");
  CHECK(answers.entry->size_bytes == 10);
  CHECK(answers.entry->mode == 0644);
  CHECK(content_of(workspace.at("a/b/c.bin")) == bytes + bytes);
  CHECK(mode_of(workspace.at("a")) == 0755);
  CHECK(mode_of(workspace.at("a/b")) == 0755);
  CHECK(workspace.write(wire::WriteFile{"a/empty"}, {}).error == "");
  CHECK(content_of(workspace.at("a/empty")) == "");
}

TEST_CASE("a file gets the mode asked for whatever the mask, and keeps its own without one") {
  Workspace workspace;
  for (const unsigned mode : {0666U, 0777U, 0U}) {
    CHECK(workspace.write(wire::WriteFile{"f", mode}, {"x"}).entry->mode == mode);
    CHECK(mode_of(workspace.at("f")) == mode);
  }
  CHECK(workspace.write(wire::WriteFile{"f", 0600}, {"x"}).error == "");
  CHECK(workspace.write(wire::WriteFile{"f"}, {"y"}).error == "");
  CHECK(mode_of(workspace.at("f")) == 0600);
}

TEST_CASE("a file appears with its last byte, and an abandoned one never") {
  Workspace workspace;
  workspace.directory.write("f", "before");
  workspace.files.accept({1, wire::WriteFile{"f"}}, false);
  workspace.files.accept({2, wire::WriteFile{"g"}}, false);
  workspace.streams.take_data(1, "after");
  workspace.streams.take_data(2, "never");
  CHECK(content_of(workspace.at("f")) == "before");
  CHECK_FALSE(fs::exists(workspace.at("g")));
  workspace.streams.accept(wire::End{1});
  CHECK(content_of(workspace.at("f")) == "after");
  workspace.streams.accept(wire::Abandon{2});
  CHECK(workspace.names() == 1);
  // The host may not know yet that a stream is over.
  workspace.streams.take_data(2, "late");
  workspace.streams.accept(wire::End{2});
  workspace.streams.accept(wire::Window{2, 1});
  CHECK(workspace.names() == 1);
}

TEST_CASE("no link is followed, no special file opened or waited for, whatever a request does") {
  Hostile workspace;
  for (const auto& [path, refusal] : refused_paths) {
    CAPTURE(path);
    CHECK(workspace.read(wire::ReadFile{path}).error == as_told(refusal, "read"));
    CHECK(workspace.write(path, "x") == as_told(refusal, "write"));
  }
  CHECK(content_of(workspace.outside.path() / "kept") == "precious");
  CHECK(std::distance(fs::directory_iterator(workspace.outside.path()), {}) == 1);
  CHECK(content_of(workspace.at("file")) == "kept");
  CHECK(workspace.names() == 9);
}

TEST_CASE("a file whose name was taken by another meanwhile is not put in its place") {
  Workspace workspace;
  workspace.directory.write("f", "kept");
  workspace.files.accept({1, wire::WriteFile{"f"}}, false);
  fs::path temporary;
  for (const auto& entry : fs::directory_iterator(workspace.directory.path()))
    if (entry.path().filename() != "f") temporary = entry.path();
  fs::remove(temporary);
  fs::create_symlink("/etc/passwd", temporary);
  workspace.streams.accept(wire::End{1});
  Answers answers;
  workspace.collect(answers);
  CHECK(answers.error == "changed: cannot write f: it was changed meanwhile");
  CHECK(content_of(workspace.at("f")) == "kept");
}

TEST_CASE("a path of thousands of components needs no more descriptors than a short one") {
  Workspace workspace;
  const ResourceLimit limit(RLIMIT_NOFILE, 64);
  std::string path;
  for (int level = 0; level < 2047; ++level) path += "d/";
  CHECK(workspace.write(path + "f", "x") == "");
  CHECK(workspace.read(wire::ReadFile{path + "f"}).data == "x");
  CHECK(init::wipe_directory(workspace.directory.path(), 0700).empty());
}

TEST_CASE("a file that cannot be written to its end leaves what was there") {
  Workspace workspace;
  workspace.directory.write("old", "x");
  const std::string half(60, 'x');
  std::vector<std::string> errors;
  {
    // What doctest prints may go to a file, too: nothing is checked in here.
    const ResourceLimit limit(RLIMIT_FSIZE, 100);
    workspace.files.accept({1, wire::WriteFile{"made/new"}}, false);
    workspace.files.accept({2, wire::WriteFile{"old"}}, false);
    for (const wire::StreamId id : {1U, 2U}) {
      workspace.streams.take_data(id, half);
      workspace.streams.take_data(id, half);
      Answers answers;
      workspace.collect(answers);
      errors.push_back(answers.error);
    }
    errors.push_back(workspace.write("fits", half));
  }
  CHECK(errors == std::vector<std::string>{"too_large: cannot write made/new: File too large",
                                           "too_large: cannot write old: File too large", ""});
  CHECK(fs::is_empty(workspace.at("made")));
  CHECK(content_of(workspace.at("old")) == "x");
  CHECK(content_of(workspace.at("fits")) == half);
  CHECK(workspace.names() == 3);
}

TEST_CASE("a file is read from an offset and for a length, and never past its end") {
  Workspace workspace;
  workspace.directory.write("f", "0123456789");
  const Answers whole = workspace.read({"f"});
  CHECK(whole.data == "0123456789");
  CHECK(whole.entry->size_bytes == 10);
  CHECK(workspace.read({"f", 3, 4}).data == "3456");
  CHECK(workspace.read({"f", 8, 100}).data == "89");
  CHECK(workspace.read({"f", 10, 1}).data == "");
  CHECK(workspace.read({"f", UINT64_MAX, UINT64_MAX}).data == "");
  CHECK(workspace.read({"f", 0, 0}).data == "");
  CHECK(workspace.read({"absent"}).error ==
        "not_found: cannot read absent: No such file or directory");
}

TEST_CASE("a sparse file of terabytes costs what was asked for of it") {
  Workspace workspace;
  workspace.directory.write("sparse", "");
  REQUIRE(::truncate(workspace.at("sparse").c_str(), off_t{4} << 40) == 0);
  const Answers answers = workspace.read({"sparse", std::uint64_t{3} << 40, 100'000});
  CHECK(answers.error == "");
  CHECK(answers.entry->size_bytes == std::uint64_t{4} << 40);
  CHECK(answers.data.size() == 100'000);
}

TEST_CASE("a change that stat shows during a read is an error") {
  Workspace workspace;
  const std::string large(wire::first_window_bytes + 1, 'x');
  for (const auto& change :
       {+[](const fs::path& path) { fs::resize_file(path, 10); },
        +[](const fs::path& path) { std::ofstream(path, std::ios::app) << "more"; },
        +[](const fs::path& path) {
          fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
        }}) {
    workspace.directory.write("f", large);
    const wire::StreamId id = workspace.next++;
    workspace.files.accept({id, wire::ReadFile{"f"}}, false);
    Answers answers;
    while (workspace.streams.is_ready()) {
      workspace.streams.advance();
      workspace.collect(answers);
    }
    // It waits for the host, with a window's bytes sent.
    CHECK(answers.data.size() == wire::first_window_bytes);
    change(workspace.at("f"));
    workspace.streams.accept(wire::Window{id, large.size()});
    while (workspace.streams.is_ready()) workspace.streams.advance();
    workspace.collect(answers);
    CHECK(answers.error == "changed: cannot read f: it was changed meanwhile");
  }
}

TEST_CASE("while the host reads slowly nothing more is read for it, and lines still go out") {
  Workspace workspace;
  workspace.directory.write("f", std::string(1 << 20, 'x'));
  workspace.files.accept({1, wire::ReadFile{"f"}}, false);
  workspace.streams.accept(wire::Window{1, 1 << 20});
  while (workspace.streams.is_ready()) workspace.streams.advance();
  CHECK(workspace.host.backlog() < max_data_backlog_bytes + wire::max_frame_bytes + 1000);
}

TEST_CASE("a host that sends more than it was granted, or opens a stream twice, is told") {
  Workspace workspace;
  workspace.files.accept({1, wire::WriteFile{"f"}}, false);
  CHECK_THROWS_AS(workspace.files.accept({1, wire::ReadFile{"f"}}, false), wire::ProtocolError);
  const std::string bytes(wire::first_window_bytes, 'x');
  workspace.streams.take_data(1, bytes);
  Answers answers;
  workspace.collect(answers);
  CHECK(answers.granted == bytes.size());
  workspace.streams.take_data(1, bytes);
  workspace.files.accept({2, wire::ReadFile{"absent"}}, false);
  CHECK_FALSE(workspace.streams.is_open(2));
  workspace.files.accept({3, wire::WriteFile{"g"}}, false);
  CHECK_THROWS_AS(workspace.streams.take_data(3, bytes + "x"), wire::ProtocolError);
  CHECK_THROWS_AS(workspace.streams.accept(wire::Window{3, UINT64_MAX}), wire::ProtocolError);
}

TEST_CASE("so many streams are open at once and no more, and a reset ends them all") {
  Workspace workspace;
  for (wire::StreamId id = 1; id <= max_open_streams; ++id)
    workspace.files.accept({id, wire::WriteFile{"f"}}, false);
  Answers refused;
  workspace.collect(refused);
  CHECK_FALSE(refused.is_over);
  workspace.files.accept({max_open_streams + 1, wire::WriteFile{"f"}}, false);
  workspace.collect(refused);
  CHECK(refused.error == "busy: cannot write f: the sandbox is busy");
  workspace.streams.accept(wire::Abandon{1});
  workspace.files.accept({max_open_streams + 1, wire::WriteFile{"f"}}, false);
  CHECK(workspace.streams.is_open(max_open_streams + 1));
  workspace.streams.interrupt_all();
  CHECK(workspace.names() == 0);
  CHECK(workspace.host.outgoing().find("busy") != std::string::npos);
  workspace.host.outgoing().clear();
  workspace.files.accept({7, wire::ReadFile{"f"}}, true);
  Answers resetting;
  workspace.collect(resetting);
  CHECK(resetting.error == "busy: cannot read f: the sandbox is busy");
}

TEST_CASE("a listing has every entry once, whatever the size of its pages and their depth") {
  Workspace workspace;
  std::vector<std::string> expected;
  for (int directory = 0; directory < 5; ++directory) {
    std::string path = "d" + std::to_string(directory);
    for (int level = 0; level < 4; ++level) {
      fs::create_directory(workspace.at(path));
      expected.push_back(path);
      for (int file = 0; file < 7; ++file) {
        expected.push_back(path + "/f" + std::to_string(file));
        workspace.directory.write(expected.back(), "x");
      }
      path += "/d";
    }
  }
  std::sort(expected.begin(), expected.end());
  for (const std::uint32_t limit : {1U, 2U, 3U, 7U, 1000U}) {
    CAPTURE(limit);
    CHECK(workspace.list({".", 10, "", limit}) == expected);
  }
  CHECK(workspace.list({".", 1, "", 2}) == std::vector<std::string>{"d0", "d1", "d2", "d3", "d4"});
  CHECK(workspace.list({"d3/d/d", 1, "f[56]"}).empty());
  CHECK(workspace.list({"d3/d/d", 1, "?5"}) == std::vector<std::string>{"f5"});
  CHECK(workspace.list({".", 9, "d1/*/f1"}) == std::vector<std::string>{"d1/d/f1"});
  CHECK(workspace.list({".", 9, "f*6", 3}).size() == 20);
}

TEST_CASE("a pattern matches within components, and none is expensive") {
  CHECK(matches("", "a/b"));
  CHECK(matches("*.csv", "a/b.csv"));
  CHECK(matches("a/*.csv", "a/b.csv"));
  CHECK(matches("a*", "a"));
  CHECK(matches("*a?b*", "xxaab"));
  CHECK(matches("\xff*", "\xff\xfe"));
  CHECK_FALSE(matches("*.csv", "a.csv/b"));
  CHECK_FALSE(matches("*/c", "a/b/c"));
  CHECK_FALSE(matches("a/*", "a"));
  CHECK_FALSE(matches("?", "ab"));
  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*a";
  CHECK_FALSE(matches(stars + "b", std::string(4000, 'a')));
}

TEST_CASE("links, pipes, sockets and names of any bytes are reported as what they are") {
  Hostile workspace;
  const std::string name = std::string(254, '\xff') + "\n";
  REQUIRE(::mknod(workspace.at(name).c_str(), S_IFREG | 0600, 0) == 0);
  std::map<std::string, wire::FileKind> kinds;
  std::string target;
  for (const wire::FileEntry& entry : workspace.ask(wire::ListFiles{".", 5}).page.entries) {
    kinds[entry.path] = entry.kind;
    if (entry.path == "a/file") target = entry.target;
  }
  using enum wire::FileKind;
  const std::map<std::string, wire::FileKind> expected = {
      {"a", directory},    {"directory", directory}, {"file", file},    {"a/out", symlink},
      {"inside", symlink}, {"a/file", symlink},      {"loop", symlink}, {"dangling", symlink},
      {"fifo", other},     {"read", other},          {"socket", other}, {name, file}};
  CHECK(kinds == expected);
  CHECK(target == workspace.outside.path() / "kept");
  CHECK(workspace.ask(wire::StatFile{"a/out"}).entry->target == workspace.outside.path());
  CHECK(workspace.ask(wire::StatFile{"fifo"}).entry->kind == other);
  CHECK(workspace.ask(wire::StatFile{"."}).entry->kind == directory);
  CHECK(workspace.ask(wire::StatFile{"absent"}).error ==
        "not_found: cannot look at absent: No such file or directory");
  CHECK(workspace.ask(wire::ListFiles{"inside"}).error.starts_with("invalid_path: "));
  CHECK(workspace.ask(wire::ListFiles{"a/out/sub"}).error.starts_with("invalid_path: "));
  CHECK(workspace.ask(wire::ListFiles{"file"}).error.starts_with("not_directory: "));
  CHECK(workspace.ask(wire::ListFiles{"absent"}).error.starts_with("not_found: "));
  CHECK(workspace.ask(wire::ListFiles{"/proc"}).error.starts_with("invalid_path: "));
}

TEST_CASE("a cursor that is none of a listing is refused, and leads nowhere else") {
  Hostile workspace;
  fs::create_directories(workspace.at("x/y"));
  for (const std::string& plain :
       {std::string("x"), std::string("1"), std::string("0\0..\0000\0", 7),
        std::string("0\0x/y\0000\0", 8), std::string("0\0\0000\0", 5), std::string("0\0x", 3)}) {
    std::string cursor;
    append_base64(cursor, plain);
    CAPTURE(cursor);
    CHECK(workspace.ask(wire::ListFiles{".", 5, "", 10, cursor}).error.starts_with("invalid_path"));
  }
  CHECK(workspace.ask(wire::ListFiles{".", 5, "", 10, "!"}).error.starts_with("invalid_path"));
  std::string through_link;
  append_base64(through_link, std::string_view("0\0inside\0000\0", 11));
  for (const wire::FileEntry& entry :
       workspace.ask(wire::ListFiles{".", 5, "", 10, through_link}).page.entries)
    CHECK_FALSE(entry.path.starts_with("inside/"));
}

TEST_CASE("a listing of a tree deeper than any path, and of many names, goes in slices") {
  Workspace workspace;
  os::UniqueFd at(::open(workspace.directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 10'000; ++level) {
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at.reset(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const ResourceLimit limit(RLIMIT_NOFILE, 64);
  // As deep as a path can name it.
  CHECK(workspace.list({".", UINT32_MAX}).size() == wire::max_path_bytes / 2);
  workspace.files.accept({77, wire::RemoveFile{"d", true}}, false);
  int slices = 0;
  for (; workspace.streams.is_open(77); ++slices) workspace.streams.advance();
  CHECK(slices > 10);
  CHECK(workspace.names() == 0);
}

TEST_CASE("directories are made, files moved, modes set and trees removed") {
  Workspace workspace;
  CHECK(workspace.ask(wire::MakeDirectory{"a/b/c"}).error == "");
  CHECK(fs::is_directory(workspace.at("a/b/c")));
  CHECK(workspace.ask(wire::MakeDirectory{"a/b"}).error ==
        "exists: cannot make the directory a/b: File exists");
  CHECK(workspace.write("f", "x") == "");
  CHECK(workspace.ask(wire::MakeDirectory{"f/g"}).error.starts_with("not_directory: "));
  CHECK(workspace.ask(wire::MoveFile{"f", "new/place"}).error == "");
  CHECK(content_of(workspace.at("new/place")) == "x");
  CHECK(workspace.write("g", "y") == "");
  CHECK(workspace.ask(wire::MoveFile{"g", "new/place"}).error ==
        "exists: cannot move g: new/place: File exists");
  CHECK(workspace.ask(wire::MoveFile{"absent", "made/z"}).error.starts_with("not_found: "));
  CHECK_FALSE(fs::exists(workspace.at("made")));
  CHECK(workspace.ask(wire::MoveFile{"a", "a/b/z"}).error.starts_with("invalid_path: "));
  CHECK(workspace.ask(wire::SetMode{"g", 0604}).error == "");
  CHECK(mode_of(workspace.at("g")) == 0604);
  CHECK(workspace.ask(wire::SetMode{"absent", 0604}).error.starts_with("not_found: "));
  CHECK(workspace.ask(wire::RemoveFile{"a"}).error.starts_with("not_empty: "));
  CHECK(workspace.ask(wire::RemoveFile{"a", true}).error == "");
  CHECK_FALSE(fs::exists(workspace.at("a")));
  CHECK(workspace.ask(wire::RemoveFile{"g"}).error == "");
  CHECK(workspace.ask(wire::RemoveFile{"g"}).error.starts_with("not_found: "));
  CHECK(workspace.ask(wire::RemoveFile{".", true}).error.starts_with("invalid_path: "));
  CHECK(fs::exists(workspace.at("new/place")));
}

TEST_CASE("a change through a link changes nothing behind it") {
  Hostile workspace;
  for (const wire::FileCall& call : std::vector<wire::FileCall>{
           wire::MakeDirectory{"a/out/new"}, wire::MoveFile{"file", "a/out/new"},
           wire::MoveFile{"a/out/kept", "new"}, wire::SetMode{"a/file", 0},
           wire::SetMode{"a/out/kept", 0}, wire::RemoveFile{"a/out/kept"},
           wire::MakeDirectory{"loop/x"}})
    CHECK(workspace.ask(call).error.starts_with("invalid_path: "));
  CHECK(content_of(workspace.outside.path() / "kept") == "precious");
  // A link itself can be moved and removed.
  CHECK(workspace.ask(wire::MoveFile{"a/out", "moved"}).error == "");
  CHECK(workspace.ask(wire::RemoveFile{"moved", true}).error == "");
  CHECK(workspace.ask(wire::RemoveFile{"a", true}).error == "");
  CHECK(workspace.ask(wire::RemoveFile{"socket"}).error == "");
  CHECK(workspace.ask(wire::RemoveFile{"fifo"}).error == "");
  CHECK(std::distance(fs::directory_iterator(workspace.outside.path()), {}) == 1);
}
