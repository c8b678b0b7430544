#include "wire/tree_stream.h"

#include "wire/protocol_error.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace hearth::wire;

namespace {

using Pieces = std::vector<std::pair<FileEntry, std::string>>;

// The entries with their bytes, from a stream that comes in pieces of that size.
Pieces entries_in(std::string_view stream, std::size_t piece_bytes) {
  TreeStreamReader reader;
  Pieces entries;
  while (!stream.empty()) {
    reader.append(stream.substr(0, piece_bytes));
    stream.remove_prefix(std::min(piece_bytes, stream.size()));
    while (const auto piece = reader.next()) {
      if (piece->entry) {
        entries.emplace_back(*piece->entry, "");
      } else {
        entries.back().second += piece->bytes;
      }
    }
  }
  CHECK(reader.is_whole());
  return entries;
}

std::string line_of(const FileEntry& entry) {
  std::string line;
  append_tree_line(line, entry);
  return line;
}

}  // namespace

TEST_CASE("a tree survives its stream, however that is cut") {
  const FileEntry directory{"d", FileKind::directory, 0, 0755, 1};
  const FileEntry file{"d/\xff\n", FileKind::file, 5, 0600, -1};
  const FileEntry empty{"d/e", FileKind::file, 0, 0, 0};
  const FileEntry link{"l", FileKind::symlink, 0, 0777, 1, std::string(4096, '\x01')};
  const std::string stream =
      line_of(directory) + line_of(file) + "a\nb{\n" + line_of(empty) + line_of(link);
  const Pieces expected{{directory, ""}, {file, "a\nb{\n"}, {empty, ""}, {link, ""}};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()})
    CHECK(entries_in(stream, piece) == expected);
}

TEST_CASE("the longest entry fits into a line of a tree") {
  std::string path;
  while (path.size() < 3800) path += std::string(199, '\x01') + '/';
  path += "end";
  const FileEntry entry{path,  FileKind::symlink, UINT64_MAX,
                        07777, INT64_MIN,         std::string(4096, '\x02')};
  REQUIRE(line_of(entry).size() < max_tree_line_bytes);
  CHECK(entries_in(line_of(entry), 4096) == Pieces{{entry, ""}});
}

TEST_CASE("what is no entry of a tree is refused, and a cut one is not whole") {
  for (const std::string path : {"/etc/passwd", ".", "a/../b", "..", "a//b", "a/", ""}) {
    CAPTURE(path);
    TreeStreamReader reader;
    reader.append(R"({"type":"file","path":")" + path +
                  "\",\"size_bytes\":0,\"mode\":0,\"modified_ns\":0}\n");
    CHECK_THROWS_AS(reader.next(), ProtocolError);
  }
  TreeStreamReader endless;
  endless.append(std::string(max_tree_line_bytes, ' '));
  CHECK_THROWS_AS(endless.next(), ProtocolError);

  TreeStreamReader cut;
  cut.append(line_of({"f", FileKind::file, 2, 0, 0}) + "x");
  CHECK(cut.next()->entry->path == "f");
  CHECK(cut.next()->bytes == "x");
  CHECK_FALSE(cut.next().has_value());
  CHECK_FALSE(cut.is_whole());
  cut.append("x");
  CHECK(cut.next()->bytes == "x");
  CHECK(cut.is_whole());
  cut.append("{");
  CHECK_FALSE(cut.next().has_value());
  CHECK_FALSE(cut.is_whole());
}
