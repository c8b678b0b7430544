#include "wire/message_reader.h"

#include "wire/protocol_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace hearth::wire;

namespace {

std::string frame(StreamId stream, const std::string& bytes) {
  std::string frame;
  append_data_header(frame, {stream, static_cast<std::uint32_t>(bytes.size())});
  return frame + bytes;
}

// Each message as one text: a frame's with its stream before it.
std::vector<std::string> messages_in(const std::string& bytes, std::size_t piece_bytes) {
  MessageReader reader(100);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
    reader.append(std::string_view(bytes).substr(at, piece_bytes));
    while (const auto message = reader.next())
      messages.push_back((message->stream ? std::to_string(*message->stream) + ":" : "") +
                         (message->too_long ? "too long" : std::string(message->text)));
  }
  CHECK_FALSE(reader.inside_message());
  return messages;
}

}  // namespace

TEST_CASE("frames hold any bytes, and lines stand between them, wherever the stream is cut") {
  const std::string hostile = frame(3, "{\"type\":\"pong\"}\n");
  const std::string bytes = "a\n" + frame(1, std::string("\n\0\n", 3)) + frame(4294967295, "x") +
                            hostile + std::string(101, 'y') + "\n" + frame(0, "z") + "b\n";
  const std::vector<std::string> expected = {"a",
                                             "1:" + std::string("\n\0\n", 3),
                                             "4294967295:x",
                                             "3:{\"type\":\"pong\"}\n",
                                             "too long",
                                             "0:z",
                                             "b"};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    CHECK(messages_in(bytes, piece) == expected);
  }
}

TEST_CASE("an end inside a frame is an end inside a message") {
  MessageReader reader(100);
  const std::string whole = frame(1, "abc");
  reader.append(std::string_view(whole).substr(0, whole.size() - 1));
  CHECK_FALSE(reader.next());
  CHECK(reader.inside_message());
  reader.append("c");
  CHECK(reader.next()->text == "abc");
  CHECK_FALSE(reader.inside_message());
}

TEST_CASE("a data header has one spelling and one size, and no other line is taken for one") {
  CHECK(data_header(R"({"type":"data","stream":7,"bytes":65536})") == DataHeader{7, 65536});
  for (const char* line :
       {R"({ "type":"data","stream":7,"bytes":1})", R"({"type":"database"})", "", "{"})
    CHECK_FALSE(data_header(line));
  for (const char* line :
       {R"({"type":"data","stream":7,"bytes":0})", R"({"type":"data","stream":7,"bytes":65537})",
        R"({"type":"data","stream":7,"bytes":01})", R"({"type":"data","stream":-7,"bytes":1})",
        R"({"type":"data","stream":,"bytes":1})",
        R"({"type":"data","stream":4294967296,"bytes":1})", R"({"type":"data","stream":7})",
        R"({"type":"data","stream":7,"bytes":1,"more":1})",
        R"({"type":"data","stream":7,"bytes":1} )"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(data_header(line), ProtocolError);
  }
}
