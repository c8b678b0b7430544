// Whole trees, as init sends them and takes them: on directories of the test's own, without a
// sandbox.
#include "init/file_requests_fixture.h"
#include "wire/tree_stream.h"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

using namespace hearth;
using namespace hearth::init;
namespace fs = std::filesystem;
using wire::FileKind;

namespace {

std::string line_of(const wire::FileEntry& entry) {
  std::string line;
  wire::append_tree_line(line, entry);
  return line;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Trees : Workspace {
  static constexpr std::uint64_t any = 1 << 30;

  // Paths with contents, of a tree that was answered.
  static std::map<std::string, std::string> files_in(const Answers& answers) {
    wire::TreeStreamReader reader;
    reader.append(answers.data);
    std::map<std::string, std::string> files;
    std::string path;
    while (const auto piece = reader.next()) {
      if (piece->entry) path = piece->entry->path;
      files[path] += piece->bytes;
    }
    CHECK(reader.is_whole());
    return files;
  }

  // All of it at once, as much as the window allows.
  Answers write_tree(const std::string& path, const std::string& stream, bool is_whole = true) {
    Answers answers;
    const wire::StreamId id = next++;
    files.accept({id, wire::WriteTree{path}}, false);
    for (std::size_t at = 0; at < stream.size(); at += wire::max_frame_bytes) {
      streams.take_data(id, std::string_view(stream).substr(at, wire::max_frame_bytes));
      while (streams.is_ready()) streams.advance();
    }
    if (is_whole) streams.accept(wire::End{id});
    while (streams.is_ready()) streams.advance();
    collect(answers);
    if (is_whole) CHECK(answers.is_over);
    if (!is_whole) streams.accept(wire::Abandon{id});
    return answers;
  }
};

}  // namespace

TEST_CASE("a tree is sent with all that is in it, in frames that end anywhere") {
  Trees trees;
  fs::create_directories(trees.at("t/d/empty"));
  const std::string large(300'000, 'x');
  trees.directory.write("t/large", large);
  trees.directory.write("t/d/small", "content");
  for (int i = 0; i < 1000; ++i) trees.directory.write("t/d/" + std::to_string(i), "");
  const Answers answers = trees.ask(wire::ReadTree{"t", Trees::any, Trees::any});
  CHECK(answers.error == "");
  REQUIRE(answers.entry.has_value());
  CHECK(answers.entry->path == "t");
  CHECK(answers.entry->kind == FileKind::directory);
  const auto files = Trees::files_in(answers);
  CHECK(files.size() == 1004);
  CHECK(files.at("large") == large);
  CHECK(files.at("d/small") == "content");
  CHECK(files.contains("d/empty"));
}

TEST_CASE("a tree that is no directory, or beyond what was asked for, is refused") {
  Trees trees;
  fs::create_directories(trees.at("t"));
  trees.directory.write("t/a", "12345");
  trees.directory.write("t/b", "12345");
  fs::create_directory_symlink("t", trees.at("link"));
  CHECK(trees.ask(wire::ReadTree{"absent", 9, 9}).error.starts_with("not_found: cannot read the"));
  CHECK(trees.ask(wire::ReadTree{"t/a", 9, 9}).error.starts_with("not_directory: "));
  CHECK(trees.ask(wire::ReadTree{"link", 9, 9}).error.starts_with("invalid_path: "));
  CHECK(trees.ask(wire::ReadTree{"/proc", 9, 9}).error.starts_with("invalid_path: "));
  CHECK(trees.ask(wire::ReadTree{"t", 2, 10}).error == "");
  CHECK(trees.ask(wire::ReadTree{"t", 1, 10}).error.starts_with("too_large: "));
  CHECK(trees.ask(wire::ReadTree{"t", 2, 9}).error.starts_with("too_large: "));
  fs::resize_file(trees.at("t/b"), std::uint64_t{1} << 40);
  CHECK(trees.ask(wire::ReadTree{"t", 9, Trees::any}).error.starts_with("too_large: "));
}

TEST_CASE("a tree waits for a host that grants nothing, and is abandoned in the middle") {
  Trees trees;
  fs::create_directories(trees.at("shut/in"));
  for (int i = 0; i < 40; ++i)
    trees.directory.write("shut/in/" + std::to_string(i), std::string(100'000, 'x'));
  ::chmod(trees.at("shut").c_str(), 0);
  const wire::StreamId id = trees.next++;
  trees.files.accept({id, wire::ReadTree{".", Trees::any, Trees::any}}, false);
  Answers answers;
  while (trees.streams.is_ready()) {
    trees.streams.advance();
    trees.collect(answers);
  }
  CHECK(answers.data.size() == wire::first_window_bytes);
  CHECK_FALSE(answers.is_over);
  trees.streams.accept(wire::Abandon{id});
  CHECK_FALSE(trees.streams.is_open(id));
  CHECK((fs::status(trees.at("shut")).permissions() & fs::perms::mask) == fs::perms::none);
  ::chmod(trees.at("shut").c_str(), 0700);
}

TEST_CASE("a tree is written into a directory that is made for it, with modes and times") {
  Trees trees;
  const std::string large(200'000, 'x');
  std::string stream = line_of({"d", FileKind::directory, 0, 02555, 3'000'000'000});
  stream += line_of({"d/large", FileKind::file, large.size(), 04640, 4'000'000'000}) + large;
  stream += line_of({"\xff", FileKind::symlink, 0, 0777, 0, "/etc/passwd"});
  for (int i = 0; i < 1000; ++i)
    stream += line_of({"e" + std::to_string(i), FileKind::file, 1, 0600, 0}) + "y";
  const Answers answers = trees.write_tree("a/b", stream);
  CHECK(answers.error == "");
  CHECK(answers.granted >= wire::first_window_bytes / 2);
  CHECK(content_of(trees.at("a/b/d/large")) == large);
  CHECK(content_of(trees.at("a/b/e999")) == "y");
  CHECK(fs::read_symlink(trees.at("a/b/\xff")) == "/etc/passwd");
  struct stat status{};
  ::stat(trees.at("a/b/d").c_str(), &status);
  CHECK((status.st_mode & 07777) == 0555);
  CHECK(status.st_mtim.tv_sec == 3);
  ::stat(trees.at("a/b/d/large").c_str(), &status);
  CHECK((status.st_mode & 07777) == 0640);
  CHECK(status.st_mtim.tv_sec == 4);
}

TEST_CASE("a tree in the way of which something is, or that is none, is refused with its kind") {
  Trees trees;
  trees.directory.write("file", "kept");
  fs::create_directory_symlink(".", trees.at("link"));
  const std::string empty = line_of({"file", FileKind::file, 0, 0600, 0});
  CHECK(trees.write_tree(".", empty).error.starts_with("exists: cannot write the tree .: file: "));
  CHECK(trees.write_tree("file", empty).error.starts_with("not_directory: "));
  CHECK(trees.write_tree("link", empty).error.starts_with("invalid_path: "));
  CHECK(trees.write_tree("link/d", empty).error.starts_with("invalid_path: "));
  CHECK(trees.write_tree("t", "{}\n").error.starts_with("invalid_path: "));
  CHECK(trees.write_tree("t", line_of({"pipe", FileKind::other, 0, 0, 0}))
            .error.starts_with("invalid_path: "));
  CHECK(trees.write_tree("t", line_of({"link/x", FileKind::file, 0, 0, 0}))
            .error.starts_with("not_found: "));
  CHECK(trees.write_tree("t", line_of({"cut", FileKind::file, 9, 0600, 0}) + "1234")
            .error.starts_with("failed: "));
  CHECK_FALSE(fs::exists(trees.at("t/cut")));
  CHECK(content_of(trees.at("file")) == "kept");
}

TEST_CASE("a tree that the host abandons leaves whole files only") {
  Trees trees;
  trees.write_tree("t",
                   line_of({"whole", FileKind::file, 1, 0600, 0}) + "x" +
                       line_of({"cut", FileKind::file, 9, 0600, 0}) + "1234",
                   false);
  CHECK(content_of(trees.at("t/whole")) == "x");
  CHECK_FALSE(fs::exists(trees.at("t/cut")));
}
