// docs/protocol.md is checked against the code: each of its examples is a message, and each message
// has one.
#include "tests/support/source_directory.h"
#include "wire/decode.h"
#include "wire/encode.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::wire;

namespace {

// The lines of the page's blocks fenced as ```json KIND.
std::vector<std::string> examples(const std::string& kind) {
  std::ifstream page(hearth::test::source_directory() + "/docs/protocol.md");
  REQUIRE(page.good());
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```json " + kind;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("H2: every request on the protocol's page is one, written as the code writes it") {
  std::set<std::size_t> seen;
  std::set<std::size_t> calls;
  for (const std::string& line : examples("request")) {
    CAPTURE(line);
    const Request request = decode_request(line);
    CHECK(encode(request) == line + "\n");
    seen.insert(request.index());
    if (const auto* file = std::get_if<FileRequest>(&request)) calls.insert(file->call.index());
  }
  CHECK(calls.size() == std::variant_size_v<FileCall>);
  CHECK(seen.size() == std::variant_size_v<Request>);
}

TEST_CASE("H26: every event on the protocol's page is one, and no type is left out") {
  std::set<std::size_t> types;
  std::set<std::string> endings;
  std::set<std::size_t> answers;
  for (const std::string& line : examples("event")) {
    CAPTURE(line);
    const Event event = decode_event(line);
    CHECK(encode(event) == line + "\n");
    types.insert(event.body.index());
    if (const auto* done = std::get_if<ScriptDone>(&event.body))
      endings.emplace(enum_name(done->ending));
    if (const auto* answer = std::get_if<FileAnswer>(&event.body))
      answers.insert(answer->body.index());
  }
  CHECK(answers.size() == std::variant_size_v<FileAnswerBody>);
  CHECK(types.size() == std::variant_size_v<EventBody>);
  CHECK(endings.size() == 9);
}

TEST_CASE("the fuzzer of the decoder begins with every message on the protocol's page") {
  std::string corpus = "\n";
  const std::string directory = hearth::test::source_directory() + "/tests/fuzz/corpus/wire";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.append(std::istreambuf_iterator<char>(file), {});
    corpus += '\n';
  }
  for (const std::string kind : {"request", "event"})
    for (const std::string& line : examples(kind)) {
      CAPTURE(line);
      CHECK(corpus.find('\n' + line + '\n') != std::string::npos);
    }
}
