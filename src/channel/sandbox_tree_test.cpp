// What the host makes of a tree that a sandbox sends, honest or not.
#include "channel/sandbox_files.h"
#include "tests/support/run_task.h"
#include "tests/support/scripted_stream.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"
#include "wire/tree_stream.h"

#include <doctest/doctest.h>
#include <boost/asio/io_context.hpp>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace hearth;
using hearth::test::run_task;
using hearth::test::ScriptedStream;
using wire::FileEntry;
using wire::FileKind;

namespace {

std::string answer(wire::FileAnswerBody body) {
  return wire::encode(wire::Event{{}, wire::FileAnswer{1, std::move(body)}});
}
std::string frame(const std::string& bytes) {
  std::string frame;
  wire::append_data_header(frame, {1, static_cast<std::uint32_t>(bytes.size())});
  return frame + bytes;
}
std::string line_of(const FileEntry& entry) {
  std::string line;
  wire::append_tree_line(line, entry);
  return line;
}

const std::string directory = answer(FileEntry{".", FileKind::directory, 0, 0755, 0});
constexpr TreeLimits ample{100, 1000};

struct Read {
  std::vector<FileEntry> entries;
  std::vector<std::string> contents;
};

// Of all a sandbox says after the request.
Read read(const std::string& said, TreeLimits limits = ample) {
  asio::io_context loop;
  auto owned = std::make_unique<ScriptedStream>(loop.get_executor());
  owned->say(said);
  owned->hang_up();
  SandboxChannel channel(std::move(owned));
  SandboxFiles files(channel);
  Read read;
  const auto work = [&]() -> Task<> {
    const std::unique_ptr<TreeReader> tree = co_await files.read_tree(".", limits);
    while (std::optional<FileEntry> entry = co_await tree->next()) {
      read.entries.push_back(*std::move(entry));
      std::string& content = read.contents.emplace_back();
      for (std::string bytes = co_await tree->read(); !bytes.empty(); bytes = co_await tree->read())
        content += bytes;
    }
  };
  run_task(loop, work());
  return read;
}

}  // namespace

TEST_CASE("a tree is read entry by entry, without set-uid bits and sizes of what is no file") {
  const std::string tree = line_of({"d", FileKind::directory, 4096, 02755, 1}) +
                           line_of({"d/f", FileKind::file, 5, 04755, 2}) + "ab\nde" +
                           line_of({"l", FileKind::symlink, 7, 0777, 3, "d"});
  const Read whole =
      read(directory + frame(tree.substr(0, 9)) + frame(tree.substr(9)) + answer(wire::FileDone{}));
  CHECK(whole.entries == std::vector<FileEntry>{{"d", FileKind::directory, 0, 0755, 1},
                                                {"d/f", FileKind::file, 5, 0755, 2},
                                                {"l", FileKind::symlink, 0, 0777, 3, "d"}});
  CHECK(whole.contents == std::vector<std::string>{"", "ab\nde", ""});
}

TEST_CASE("a tree that a sandbox cuts, or that is none, or too large, is the sandbox's failure") {
  const std::string file = line_of({"f", FileKind::file, 5, 0644, 0});
  const std::string end = answer(wire::FileDone{});
  CHECK_THROWS_AS(read(directory + frame(file + "1234") + end), wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame(file.substr(0, 9)) + end), wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame("{}\n") + end), wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame(line_of({"../f", FileKind::file, 0, 0, 0})) + end),
                  wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame(file + "12345") + end, {0, 1000}), wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame(file + "12345") + end, {1, 4}), wire::ProtocolError);
  CHECK_NOTHROW(read(directory + frame(file + "12345") + end, {1, 5}));
  CHECK_THROWS_AS(read(directory + frame(file + "12345") + directory), wire::ProtocolError);
  CHECK_THROWS_AS(read(directory + frame(file + "12345")), IncompleteRead);
  CHECK_THROWS_WITH_AS(read(directory + frame(file + "123") +
                            answer(wire::FileFailed{wire::FileProblem::changed, "f was changed"})),
                       "f was changed", FileError);
}

TEST_CASE("a tree into a sandbox ends with its answer, or with the sandbox's refusal at once") {
  struct GivenTree : TreeReader {
    FileEntry entry;
    std::string content;
    bool is_given = false;
    Task<std::optional<FileEntry>> next() override {
      if (std::exchange(is_given, true)) co_return std::nullopt;
      co_return entry;
    }
    Task<std::string> read() override { co_return std::exchange(content, {}); }
  };
  const auto write = [](const std::string& said, std::uint64_t size) {
    asio::io_context loop;
    auto owned = std::make_unique<ScriptedStream>(loop.get_executor());
    ScriptedStream& stream = *owned;
    stream.say(said);
    SandboxChannel channel(std::move(owned));
    SandboxFiles files(channel);
    GivenTree tree;
    tree.entry = {"f", FileKind::file, size, 0644, 0};
    tree.content = "12345";
    run_task(loop, files.write_tree("d", tree));
    return stream.heard;
  };
  const std::string heard = write(answer(wire::FileDone{}), 5);
  CHECK(heard.starts_with("{\"type\":\"write_tree\",\"stream\":1,\"path\":\"d\"}\n"));
  CHECK(heard.ends_with("12345{\"type\":\"end\",\"stream\":1}\n"));
  CHECK_THROWS_WITH_AS(write(answer(wire::FileFailed{wire::FileProblem::exists, "f is there"}), 5),
                       "f is there", FileError);
  CHECK_THROWS_WITH_AS(write("", 4), "f has more bytes than it was said to have", Error);
  CHECK_THROWS_WITH_AS(write("", 6), "f has fewer bytes than it was said to have", Error);
}
