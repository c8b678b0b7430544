// Entries into a directory, as a hostile sandbox could send them.
#include "files/tree_writer.h"

#include "files/directory_walk.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::files;
using wire::FileEntry;
using wire::FileKind;
namespace fs = std::filesystem;

namespace {

FileEntry directory(const std::string& path, unsigned mode = 0755) {
  return {path, FileKind::directory, 0, mode, 5'000'000'000};
}
FileEntry link_to(const std::string& path, const std::string& target) {
  return {path, FileKind::symlink, 0, 0777, 5'000'000'000, target};
}
FileEntry file(const std::string& path, std::uint64_t size, unsigned mode = 0644) {
  return {path, FileKind::file, size, mode, 5'000'000'000};
}

// A target directory, and one beside it where nothing may appear.
struct Place {
  test::TemporaryDirectory directory;
  fs::path target = directory.path() / "target";
  fs::path outside = directory.path() / "outside";
  Place() {
    fs::create_directory(target);
    fs::create_directory(outside);
    std::ofstream(outside / "secret") << "untouched";
  }
  TreeWriter writer(TreeRules rules = TreeRules::onto_host) const {
    return {open_directory(AT_FDCWD, target.c_str()), rules};
  }
  std::string content(const std::string& name) const {
    std::ifstream in(target / name, std::ios::binary);
    REQUIRE(in.good());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(target))
      names.insert(entry.path().lexically_relative(target));
    return names;
  }
  bool is_outside_untouched() const {
    std::ifstream in(outside / "secret");
    return std::string{std::istreambuf_iterator<char>(in), {}} == "untouched" &&
           std::distance(fs::directory_iterator(outside), {}) == 1 &&
           std::distance(fs::directory_iterator(directory.path()), {}) == 2;
  }
};

void add(TreeWriter& writer, const std::string& path, const std::string& content,
         unsigned mode = 0644) {
  writer.begin(file(path, content.size(), mode));
  writer.data(content);
}

std::vector<std::string> paths_of(const std::vector<LeftOut>& left_out) {
  std::vector<std::string> paths;
  for (const LeftOut& one : left_out) paths.push_back(one.path);
  return paths;
}

std::string problem_of(TreeWriter& writer, const FileEntry& entry) {
  try {
    writer.begin(entry);
  } catch (const FileFailure& failure) {
    return std::string(enum_name(failure.problem));
  }
  return "none";
}

unsigned mode_of(const fs::path& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::int64_t seconds_of(const fs::path& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mtim.tv_sec;
}

}  // namespace

TEST_CASE("a tree is written as it was, without set-uid bits, with its times") {
  const Place place;
  const mode_t umask = ::umask(022);
  TreeWriter writer = place.writer();
  writer.begin(directory("d", 01777));
  add(writer, "d/f", "con");
  writer.begin(directory("d/e", 0));
  add(writer, "d/e/g", "tent", 06777);
  add(writer, "h", "", 0);
  writer.begin(link_to("l", "d/f"));
  writer.finish();
  ::umask(umask);
  CHECK(place.names() == std::set<std::string>{"d", "d/e", "d/e/g", "d/f", "h", "l"});
  CHECK(place.content("d/f") == "con");
  CHECK(place.content("l") == "con");
  CHECK(mode_of(place.target / "d") == 0755);
  CHECK(mode_of(place.target / "d/e") == 0700);
  CHECK(mode_of(place.target / "d/e/g") == 0755);
  CHECK(mode_of(place.target / "h") == 0);
  for (const char* name : {"d", "d/f", "d/e", "d/e/g", "l"}) {
    CAPTURE(name);
    CHECK(seconds_of(place.target / name) == 5);
  }
  CHECK(writer.left_out_count() == 0);
  CHECK(writer.files() == 3);
  CHECK(writer.bytes() == 7);
}

TEST_CASE("entries that lead out of the directory are left out, and nothing appears outside") {
  const Place place;
  fs::create_directory_symlink("../outside", place.target / "there");
  TreeWriter writer = place.writer(TreeRules::onto_host_replacing);
  for (const std::string path :
       {"../outside/x", "/tmp/hearth-x", "d/../../outside/x", "..", ".", "", "d//x", "d/"})
    add(writer, path, "hostile");
  add(writer, "there/secret", "hostile");
  add(writer, "there/new", "hostile");
  writer.begin(link_to("absolute", place.outside));
  writer.begin(link_to("up", "../outside"));
  add(writer, "up/x", "hostile");
  writer.begin(link_to("nul", std::string("..\0x", 4)));
  writer.begin(directory("in"));
  writer.begin(link_to("in/top", ".."));
  add(writer, "in/top/made", "through a link");
  writer.begin({"device", FileKind::other, 0, 0666, 0});
  add(writer, "last", "written");
  writer.finish();
  CHECK(place.names() == std::set<std::string>{"there", "in", "in/top", "last"});
  CHECK(place.is_outside_untouched());
  CHECK(writer.left_out_count() == 16);
  CHECK(writer.left_out().front().path == "../outside/x");
  CHECK(writer.left_out().back().path == "device");
}

TEST_CASE(
    "names that are taken stay what they were and are named, and are replaced only if asked") {
  const Place place;
  std::ofstream(place.target / "file") << "mine";
  fs::create_directory(place.target / "directory");
  fs::create_symlink("file", place.target / "link");
  ::chmod((place.target / "directory").c_str(), 0711);
  const auto send = [&](TreeRules rules) {
    TreeWriter writer = place.writer(rules);
    add(writer, "file", "theirs");
    add(writer, "link", "theirs");
    writer.begin(directory("directory", 0755));
    add(writer, "directory/new", "theirs");
    add(writer, "directory", "theirs");
    writer.begin(directory("file"));
    add(writer, "file/in", "theirs");
    writer.finish();
    return paths_of(writer.left_out());
  };
  CHECK(send(TreeRules::onto_host) ==
        std::vector<std::string>{"file", "link", "directory", "file", "file/in"});
  CHECK(place.content("file") == "mine");
  CHECK(place.content("directory/new") == "theirs");
  CHECK(send(TreeRules::onto_host_replacing) ==
        std::vector<std::string>{"directory", "file", "file/in"});
  CHECK(place.content("file") == "theirs");
  CHECK(place.content("link") == "theirs");
  CHECK_FALSE(fs::is_symlink(place.target / "link"));
  CHECK(mode_of(place.target / "directory") == 0711);
}

TEST_CASE(
    "into a sandbox modes are exact, links are as they are, and what is in the way an error") {
  const Place place;
  {
    TreeWriter writer = place.writer(TreeRules::into_sandbox);
    writer.begin(directory("d", 0500));
    add(writer, "d/f", "content", 06666);
    writer.begin(link_to("out", "/etc/passwd"));
    writer.finish();
    CHECK(mode_of(place.target / "d") == 0500);
    CHECK(mode_of(place.target / "d/f") == 0666);
    CHECK(fs::read_symlink(place.target / "out") == "/etc/passwd");
  }
  TreeWriter writer = place.writer(TreeRules::into_sandbox);
  CHECK(problem_of(writer, directory("d", 0700)) == "none");
  CHECK(problem_of(writer, file("d/f", 0)) == "exists");
  CHECK(problem_of(writer, link_to("out", "x")) == "exists");
  CHECK(problem_of(writer, directory("out")) == "exists");
  CHECK(problem_of(writer, file("out/x", 0)) == "not_directory");
  CHECK(problem_of(writer, file("absent/x", 0)) == "not_found");
  CHECK(problem_of(writer, file("d/f/x", 0)) == "not_directory");
  CHECK(problem_of(writer, file("../x", 0)) == "invalid_path");
  CHECK(problem_of(writer, {"device", FileKind::other, 0, 0666, 0}) == "invalid_path");
  CHECK(place.is_outside_untouched());
}

TEST_CASE("entries in any order reach their directories, and a file that is not whole is removed") {
  const Place place;
  {
    TreeWriter writer = place.writer();
    writer.begin(directory("a"));
    writer.begin(directory("a/b"));
    writer.begin(directory("ab"));
    add(writer, "a/b/f", "1");
    add(writer, "ab/f", "2");
    add(writer, "a/f", "3");
    writer.begin(file("a/cut", 10));
    writer.data("12345");
    CHECK_THROWS_AS(writer.data("678901"), FileFailure);
    CHECK_THROWS_AS(writer.begin(directory("more")), FileFailure);
  }
  CHECK(place.names() == std::set<std::string>{"a", "a/b", "a/b/f", "a/f", "ab", "ab/f"});
}

TEST_CASE("a directory that is moved away under the writer is an error, and nothing goes there") {
  const Place place;
  TreeWriter writer = place.writer();
  writer.begin(directory("a"));
  writer.begin(directory("a/b"));
  fs::rename(place.target / "a/b", place.outside / "b");
  try {
    add(writer, "a/f", "x");
    FAIL("it was written");
  } catch (const FileFailure& failure) {
    CHECK(enum_name(failure.problem) == "changed");
  }
  CHECK_FALSE(fs::exists(place.outside / "f"));
}
