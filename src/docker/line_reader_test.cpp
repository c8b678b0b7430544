#include "docker/line_reader.h"

#include "channel/sandbox_channel.h"
#include "wire/protocol_error.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace hearth::docker {
namespace {

constexpr std::size_t limit = 64;

std::string frame(unsigned char stream, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes{static_cast<char>(stream), 0, 0, 0};
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(size >> shift);
  return bytes + std::string(payload);
}

struct Read {
  std::vector<std::string> output;
  std::vector<std::string> errors;
  bool operator==(const Read&) const = default;
};

void collect(DockerLineReader& reader, Read& read) {
  while (const auto line = reader.next())
    read.output.push_back(line->too_long ? "too long" : std::string(line->text));
  while (const auto line = reader.next_error())
    read.errors.push_back(line->too_long ? "too long" : std::string(line->text));
}

Read lines_of(const std::vector<std::string>& pieces) {
  DockerLineReader reader(limit);
  Read read;
  for (const std::string& piece : pieces) {
    reader.append(piece);
    collect(reader, read);
  }
  reader.finish();
  return read;
}

}  // namespace

TEST_CASE("P26: a frame is a stream, padding, a length in network order and its bytes") {
  const std::string bytes("\x01\0\0\0\0\0\0\x03hi\n", 11);
  CHECK(lines_of({bytes}) == Read{{"hi"}, {}});
  const std::string errors("\x02\0\0\0\0\0\0\x04oh!\n", 12);
  CHECK(lines_of({errors}) == Read{{}, {"oh!"}});
  // 0x00010001 bytes: every byte of the length counts.
  DockerLineReader reader(std::size_t{1} << 20);
  reader.append(frame(1, std::string(0x10000, 'x') + '\n'));
  CHECK(reader.next()->text.size() == 0x10000);
  reader.finish();
}

TEST_CASE("P27: whole lines, however they are spread over frames") {
  CHECK(lines_of({frame(1, "one"), frame(1, " line\n")}) == Read{{"one line"}, {}});
  CHECK(lines_of({frame(1, "a\nb\n\nc\n")}) == Read{{"a", "b", "", "c"}, {}});
  CHECK(lines_of({frame(1, "a"), frame(1, ""), frame(1, "\n")}) == Read{{"a"}, {}});
  CHECK(lines_of({frame(1, "a") + frame(2, "x\n") + frame(1, "b\n")}) == Read{{"ab"}, {"x"}});
  CHECK(lines_of({frame(2, "x"), frame(1, "a\n"), frame(2, "y\n")}) == Read{{"a"}, {"xy"}});
  const std::string heart = "❤\n";
  CHECK(lines_of({frame(1, heart.substr(0, 1)), frame(1, heart.substr(1, 1)),
                  frame(1, heart.substr(2))}) == Read{{"❤"}, {}});
}

TEST_CASE("P27: every split of every frame gives the same lines") {
  const std::string bytes = frame(1, "first\nsec") + frame(2, "warn\n") + frame(1, "") +
                            frame(1, "ond\n") + frame(3, "engine\n") + frame(0, "third\n");
  const Read whole = lines_of({bytes});
  CHECK(whole == Read{{"first", "second", "third"}, {"warn", "engine"}});
  for (std::size_t one = 0; one <= bytes.size(); ++one)
    for (std::size_t two = one; two <= bytes.size(); ++two)
      CHECK(lines_of({bytes.substr(0, one), bytes.substr(one, two - one), bytes.substr(two)}) ==
            whole);
}

TEST_CASE("P27: what was written comes out, whatever the frames and the cuts") {
  CHECK(rc::check("lines survive", [](const std::vector<std::string>& texts, unsigned seed) {
    std::string written[2];
    std::string bytes;
    Read expected;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string text = texts[i].substr(0, limit);
      std::erase(text, '\n');
      const std::size_t which = (seed >> (i % 31)) & 1;
      (which == 0 ? expected.output : expected.errors).push_back(text);
      written[which] += text + '\n';
      // Some of it now, some with the next.
      const std::size_t size = written[which].size() * (seed % 5) / 4 % (written[which].size() + 1);
      bytes += frame(static_cast<unsigned char>(1 + which), written[which].substr(0, size));
      written[which].erase(0, size);
    }
    for (const std::size_t which : {0U, 1U})
      bytes += frame(static_cast<unsigned char>(1 + which), written[which]);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + *rc::gen::inRange<std::size_t>(0, 40);
      pieces.push_back(bytes.substr(at, size));
      at += size;
    }
    RC_ASSERT(lines_of(pieces) == expected);
  }));
}

TEST_CASE("lines without end are bounded, and frames need not be") {
  DockerLineReader reader(limit);
  reader.append(frame(1, std::string(1000, 'x')).substr(0, 900));
  CHECK(reader.next()->too_long);
  CHECK_FALSE(reader.next());
  reader.append(std::string(108, 'x') + frame(1, "\nshort\n"));
  CHECK(reader.next()->text == "short");
}

TEST_CASE("P26: the end of the stream inside a frame or a line is an incomplete read") {
  const std::string bytes = frame(1, "line\n");
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    DockerLineReader reader(limit);
    reader.append(bytes.substr(0, size));
    CHECK_THROWS_AS(reader.finish(), IncompleteRead);
    CHECK(reader.inside_message());
  }
  DockerLineReader reader(limit);
  reader.append(bytes);
  CHECK(reader.next());
  CHECK_NOTHROW(reader.finish());
  CHECK_FALSE(reader.inside_message());
  reader.append(frame(1, "half"));
  CHECK_THROWS_WITH_AS(reader.finish(), "the container's stream ended inside a line",
                       IncompleteRead);
  DockerLineReader empty(limit);
  CHECK_NOTHROW(empty.finish());
}

TEST_CASE("what is no frame is refused") {
  DockerLineReader stream(limit);
  CHECK_THROWS_AS(stream.append(std::string("\x04\0\0\0\0\0\0\x01x", 9)), wire::ProtocolError);
  DockerLineReader padding(limit);
  CHECK_THROWS_AS(padding.append(std::string("\x01\0\x01\0\0\0\0\x01x", 9)), wire::ProtocolError);
  DockerLineReader text(limit);
  CHECK_THROWS_AS(text.append("HTTP/1.1 500"), wire::ProtocolError);
}

}  // namespace hearth::docker
