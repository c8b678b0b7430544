#include "wire/line_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using hearth::wire::LineReader;

namespace {

// Every line that comes out; "<long>" stands for one over the limit.
std::vector<std::string> lines_of(LineReader& reader, std::string_view bytes, std::size_t piece) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.append(bytes.substr(at, piece));
    while (const auto line = reader.next())
      lines.push_back(line->too_long ? "<long>" : std::string(line->text));
  }
  return lines;
}

}  // namespace

TEST_CASE("lines are the same wherever the stream is cut") {
  const std::string bytes = "one\n\ntwo two\n" + std::string(40, 'x') + "\nafter\nrest";
  const std::vector<std::string> expected = {"one", "", "two two", "<long>", "after"};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    LineReader reader(20);
    CHECK(lines_of(reader, bytes, piece) == expected);
    CHECK(reader.inside_line());
  }
}

TEST_CASE("a line of exactly the limit passes and one more byte does not") {
  LineReader reader(4);
  CHECK(lines_of(reader, "1234\n12345\n1\n", 3) == std::vector<std::string>{"1234", "<long>", "1"});
  CHECK_FALSE(reader.inside_line());
}

TEST_CASE("an endless line is reported once and never kept") {
  LineReader reader(1000);
  const std::string chunk(500, 'x');
  int reported = 0;
  for (int i = 0; i < 10'000; ++i) {
    reader.append(chunk);
    while (reader.next()) ++reported;
  }
  CHECK(reported == 1);
  CHECK(reader.inside_line());
  CHECK(lines_of(reader, "still the same line\nnext\n", 1) == std::vector<std::string>{"next"});
}
