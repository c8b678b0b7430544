#include "session/snapshots.h"

#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <sstream>

using namespace hearth;
using session::SnapshotDamaged;
using session::Snapshots;
using session::SnapshotTooLarge;
using session::TreeEntry;
using session::TreeKind;
using session::UnsafeTree;

namespace {

struct Given {
  TreeEntry entry{};
  std::string content{};
};

Given file(const std::string& path, const std::string& content, std::uint32_t mode = 0644) {
  return {{.path = path, .size_bytes = content.size(), .mode = mode, .modified_ns = 1'234'567'890},
          content};
}
Given directory(const std::string& path) {
  return {{.path = path, .kind = TreeKind::directory, .mode = 0755}};
}
Given symlink_to(const std::string& path, const std::string& target) {
  return {{.path = path, .kind = TreeKind::symlink, .mode = 0777, .target = target}};
}

class GivenTree : public session::TreeReader {
 public:
  explicit GivenTree(std::vector<Given> given) : given_(given.begin(), given.end()) {}
  Task<std::optional<TreeEntry>> next() override {
    if (given_.empty()) co_return std::nullopt;
    content_ = given_.front().content;
    TreeEntry entry = given_.front().entry;
    given_.pop_front();
    co_return entry;
  }
  // In two pieces.
  Task<std::string> read() override {
    const std::size_t count = content_.size() > 1 ? content_.size() / 2 : content_.size();
    std::string piece = content_.substr(0, count);
    content_.erase(0, count);
    co_return piece;
  }

 private:
  std::deque<Given> given_;
  std::string content_;
};

Task<std::vector<Given>> all_of(std::unique_ptr<session::TreeReader> tree) {
  std::vector<Given> all;
  while (std::optional<TreeEntry> entry = co_await tree->next()) {
    Given given{*entry};
    for (std::string bytes = co_await tree->read(); !bytes.empty(); bytes = co_await tree->read())
      given.content += bytes;
    all.push_back(std::move(given));
  }
  co_return all;
}

class Place {
 public:
  explicit Place(session::SnapshotLimits limits = {}) : snapshots_(path(), limits) {}

  template <typename T>
  T run(Task<T> task) {
    return test::run_task(loop_, std::move(task));
  }
  Snapshots* operator->() { return &snapshots_; }
  session::Written write(std::int64_t generation, std::vector<Given> given) {
    GivenTree tree(std::move(given));
    return run(snapshots_.write("ses_0123456789abcdef0123456789abcdef", generation, tree));
  }
  std::vector<Given> read(std::int64_t generation) {
    return run(all_of(run(snapshots_.open("ses_0123456789abcdef0123456789abcdef", generation))));
  }
  std::filesystem::path path() const { return directory_.path() / "snapshots"; }

 private:
  test::TemporaryDirectory directory_;
  asio::io_context loop_{1};
  Snapshots snapshots_;
};

void check_same(const std::vector<Given>& found, const std::vector<Given>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t index = 0; index < found.size(); ++index) {
    CHECK(found[index].entry == expected[index].entry);
    CHECK((found[index].content == expected[index].content));
  }
}

std::string large(std::size_t bytes) {
  std::string content(bytes, '\0');
  std::uint32_t state = 7;
  for (char& byte : content) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return content;
}

}  // namespace

TEST_CASE("a name that is not a session's leads nowhere, and other files are left alone") {
  const test::TemporaryDirectory around;
  std::filesystem::create_directory(around.path() / "precious");
  around.write("precious/diary.txt", "kept");
  std::filesystem::create_directory(around.path() / "snapshots");
  std::filesystem::permissions(around.path() / "snapshots", std::filesystem::perms::owner_all);
  around.write("snapshots/notes.txt", "not Hearth's");
  Snapshots snapshots(around.path() / "snapshots", {});
  asio::io_context loop;
  for (const std::string& name : {(around.path() / "precious").string(), std::string("../precious"),
                                  std::string("notes.txt"), std::string("."), std::string()}) {
    CAPTURE(name);
    CHECK_THROWS_AS(test::run_task(loop, snapshots.remove(name)), Error);
    CHECK_THROWS_AS(test::run_task(loop, snapshots.keep_only(name, {})), Error);
    CHECK_THROWS_AS(test::run_task(loop, snapshots.manifest(name, 1)), Error);
  }
  CHECK(test::run_task(loop, snapshots.sessions()).empty());
  CHECK(std::filesystem::exists(around.path() / "precious/diary.txt"));
  CHECK(std::filesystem::exists(around.path() / "snapshots/notes.txt"));
}

TEST_CASE("a snapshot comes back as it was: bytes, names, modes, times, links, empty files") {
  Place place;
  const std::vector<Given> tree{file(".hidden", "secret", 0600),
                                directory("a"),
                                directory("a/b c"),
                                file("a/b c/\xC3\xBC.txt", "umlaut", 0755),
                                file("a/\xFF\xFE", "no UTF-8"),
                                file("empty", ""),
                                symlink_to("link", "a/b c"),
                                symlink_to("python", "/usr/bin/python3"),
                                file("zeros", std::string(3'000'000, '\0')),
                                file("noise", large(5'000'000)),
                                file(std::string(200, 'x') + "\n", "long")};
  const session::Written written = place.write(1, tree);
  CHECK(written.manifest.entries.size() == tree.size());
  check_same(place.read(1), tree);
  const session::Manifest manifest =
      place.run(place->manifest("ses_0123456789abcdef0123456789abcdef", 1));
  CHECK(manifest.generation == 1);
  CHECK(same_content(manifest, written.manifest));
  CHECK(manifest.entries[5].content ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("a snapshot with many files comes back whole") {
  Place place;
  std::vector<Given> tree;
  for (int number = 0; number < 3000; ++number)
    tree.push_back(file("file" + std::to_string(number), std::to_string(number)));
  place.write(1, tree);
  check_same(place.read(1), tree);
}

TEST_CASE("a snapshot is private to its owner") {
  Place place;
  place.write(1, {file("a", "1", 0666)});
  for (const char* name :
       {"ses_0123456789abcdef0123456789abcdef", "ses_0123456789abcdef0123456789abcdef/1"}) {
    const auto mode = std::filesystem::status(place.path() / name).permissions();
    CHECK((mode & std::filesystem::perms::others_all) == std::filesystem::perms::none);
  }
}

TEST_CASE("a survey finds the same content in another order, and any difference") {
  Place place;
  const auto survey = [&](std::vector<Given> given) {
    GivenTree tree(std::move(given));
    return place.run(place->survey(tree)).manifest;
  };
  const session::Manifest one = survey({file("a", "1"), file("b", "2"), symlink_to("c", "a")});
  CHECK(same_content(one, survey({symlink_to("c", "a"), file("b", "2"), file("a", "1")})));
  CHECK_FALSE(same_content(one, survey({file("a", "1"), file("b", "2")})));
  CHECK_FALSE(same_content(one, survey({file("a", "1"), file("b", "3"), symlink_to("c", "a")})));
  CHECK_FALSE(same_content(one, survey({file("a", "1"), file("b", "2"), symlink_to("c", "b")})));
  CHECK_FALSE(
      same_content(one, survey({file("a", "1", 0755), file("b", "2"), symlink_to("c", "a")})));
  CHECK(std::filesystem::is_empty(place.path()));
}

TEST_CASE("a tree that could reach anything but itself is refused, and nothing of it is kept") {
  Place place;
  place.write(1, {file("good", "1")});
  const std::vector<std::vector<Given>> hostile{
      {file("/etc/passwd", "x")},
      {file("../up", "x")},
      {directory("a"), file("a/../../up", "x")},
      {file("a//b", "x")},
      {file("./a", "x")},
      {file("", "x")},
      {file(std::string("a\0b", 3), "x")},
      {symlink_to("a", "/etc"), file("a/passwd", "x")},  // through a link
      {file("a", "x"), symlink_to("a", "/etc")},         // the same path again
      {directory("a"), symlink_to("a", "/etc"), file("a/b", "x")},
      {file("missing/b", "x")},
      {symlink_to("a", "")},
      {file(std::string(256, 'n'), "x")},
  };
  for (const std::vector<Given>& tree : hostile) {
    CAPTURE(tree.back().entry.path);
    CHECK_THROWS_AS(place.write(2, tree), UnsafeTree);
    CHECK_FALSE(
        std::filesystem::exists(place.path() / "ses_0123456789abcdef0123456789abcdef" / "2"));
    CHECK_FALSE(
        std::filesystem::exists(place.path() / "ses_0123456789abcdef0123456789abcdef" / "2.new"));
  }
  check_same(place.read(1), {file("good", "1")});
}

TEST_CASE("a file that has more or fewer bytes than it was said to have is refused") {
  Place place;
  Given more = file("a", "12345");
  more.entry.size_bytes = 4;
  CHECK_THROWS_AS(place.write(1, {more}), UnsafeTree);
  Given fewer = file("a", "12345");
  fewer.entry.size_bytes = 6;
  CHECK_THROWS_AS(place.write(1, {fewer}), UnsafeTree);
}

TEST_CASE("sockets, FIFOs and devices are left out and named") {
  Place place;
  Given device{{.path = "dev", .kind = TreeKind::other}};
  const session::Written written = place.write(1, {file("a", "1"), device});
  CHECK(written.left_out == std::vector<std::string>{"dev"});
  check_same(place.read(1), {file("a", "1")});
}

TEST_CASE("too many bytes or files are an error that names the setting") {
  Place place({.max_bytes = 1 << 20, .max_entries = 3});
  Given sparse = file("sparse", "");
  sparse.entry.size_bytes = std::uint64_t{4} << 40;
  CHECK_THROWS_AS(place.write(1, {sparse}), SnapshotTooLarge);
  CHECK_THROWS_AS(place.write(1, {file("a", large(600'000)), file("b", large(600'000))}),
                  SnapshotTooLarge);
  try {
    place.write(1, {file("a", ""), file("b", ""), file("c", ""), file("d", "")});
    FAIL("it was kept");
  } catch (const SnapshotTooLarge& error) {
    CHECK(std::string(error.what()).find("session.max_snapshot_files") != std::string::npos);
  }
  place.write(1, {file("a", large(1 << 20)), file("b", ""), file("c", "")});
}

TEST_CASE("every damaged byte of a snapshot is noticed before the first file comes out") {
  Place place;
  place.write(1, {file("old", "1")});
  place.write(2, {file("a", "some text"), symlink_to("b", "a")});
  for (const char* name : {"workspace.tar.zst", "manifest.ndjson"}) {
    const std::filesystem::path path =
        place.path() / "ses_0123456789abcdef0123456789abcdef" / "2" / name;
    std::stringstream whole;
    whole << std::ifstream(path).rdbuf();
    const std::string good = whole.str();
    for (std::size_t index = 0; index < good.size(); index += 3) {
      std::string bad = good;
      bad[index] = static_cast<char>(bad[index] ^ 1);
      std::ofstream(path) << bad;
      try {
        place.run(place->open("ses_0123456789abcdef0123456789abcdef", 2));
        FAIL("damage was not noticed at " << index);
      } catch (const SnapshotDamaged& error) {
        CHECK(error.fallback == 1);
      }
    }
    std::ofstream(path) << good;
  }
  CHECK(place.read(2).size() == 2);
}

TEST_CASE("a manifest of another generation does not pass for the one that is asked for") {
  Place place;
  place.write(1, {file("a", "1")});
  place.write(2, {file("a", "2")});
  std::filesystem::rename(place.path() / "ses_0123456789abcdef0123456789abcdef/1",
                          place.path() / "ses_0123456789abcdef0123456789abcdef/3");
  CHECK_THROWS_AS(place.read(3), SnapshotDamaged);
}

TEST_CASE("a tar of any origin is read, and hostile ones are refused") {
  Place place;
  const auto tar = [&](const std::string& script) {
    const std::string path = place.path() / "in.tar";
    const std::string command = "cd $(mktemp -d) && " + script + " > " + path + " && rm -rf $PWD";
    REQUIRE(std::system(command.c_str()) == 0);
    auto tree = place.run(
        place->open_tar(os::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), "in.tar"));
    const session::Written written =
        place.run(place->write("ses_0123456789abcdef0123456789abcdef", 1, *tree));
    std::filesystem::remove(path);
    return written.manifest.entries.size();
  };
  CHECK(tar("mkdir d && echo 1 > d/f && ln -s d l && tar c .") == 3);
  CHECK(tar("mkdir d && echo 1 > d/f && tar cz d") == 2);
  CHECK(tar("echo 1 > f && tar c --zstd f") == 1);
  CHECK(tar("echo 1 > \xC3\xBC && tar c --format=pax .") == 1);
  CHECK(place.read(1).at(0).entry.path == "\xC3\xBC");
  // Nanoseconds end in 2262.
  CHECK(tar("echo 1 > f && tar c --format=pax --mtime=@99999999999 f") == 1);
  CHECK(place.read(1).at(0).entry.modified_ns == 9'223'372'035'000'000'000);
  CHECK_THROWS_AS(tar("echo 1 > f && tar cP --transform 's|^|/abs/|' f"), UnsafeTree);
  CHECK_THROWS_AS(tar("echo 1 > f && tar cP --transform 's|^|../|' f"), UnsafeTree);
  CHECK_THROWS_AS(tar("head -c 2000 /dev/urandom"), Error);
}

TEST_CASE("an exported tar is one that tar reads, without links that lead out of it") {
  Place place;
  GivenTree tree({directory("d"), file("d/f", "text"), symlink_to("in", "d/f"),
                  symlink_to("d/up", "../in"), symlink_to("abs", "/etc/passwd"),
                  symlink_to("out", "../x"), symlink_to("sly", "d/../../x")});
  const std::string path = place.path() / "out.tar.zst";
  const os::UniqueFd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::vector<std::string> left_out = place.run(place->write_tar(tree, out.get(), path));
  CHECK(left_out == std::vector<std::string>{"abs", "out", "sly"});
  const std::string command =
      "[ \"$(tar t --zstd -f " + path + " | tr '\\n' ' ')\" = 'd/ d/f in d/up ' ]";
  CHECK(std::system(command.c_str()) == 0);
}
