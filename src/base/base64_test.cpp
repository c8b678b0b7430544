#include "base/base64.h"

#include <doctest/doctest.h>

#include <cctype>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace hearth;

namespace {

std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

}  // namespace

TEST_CASE("base64 is as RFC 4648 has it, both ways") {
  using namespace std::string_literals;
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {"\0"s, "AA=="},
                                                        {"\xff\xff\xff", "////"},
                                                        {"\xfb\xef\xbe", "++++"},
                                                        {"\xff\xfe", "//4="}}) {
    CAPTURE(text);
    CHECK(encoded(bytes) == text);
    CHECK(decode_base64(text) == bytes);
  }
  std::string behind = "kept";
  append_base64(behind, "foo");
  CHECK(behind == "keptZm9v");
}

TEST_CASE("bytes of every value and of every length come back from base64") {
  std::minstd_rand random(7);
  for (std::size_t size = 0; size < 800; ++size) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size; ++at)
      bytes[at] = static_cast<char>(size < 400 ? random() : at);
    REQUIRE(decode_base64(encoded(bytes)) == bytes);
  }
}

TEST_CASE("a text that is not exactly base64 is refused") {
  using namespace std::string_literals;
  for (const std::string& text :
       {"A"s,      "AA"s,       "AAA"s,    "AAAAA"s,   "="s,         "=="s,           "==="s,
        "===="s,   "A==="s,     "A=A="s,   "AA=A"s,    "=AAA"s,      "AA==AAAA"s,     "AAA=AAAA"s,
        "Zg==\n"s, "Zm9v\n"s,   "\nZm9v"s, "Zm 9"s,    "Zm9v Zm9v"s, "Zm\n9v\n"s,     "Zm9-"s,
        "Zm9_"s,   "Zm9v===="s, "Zm9\0"s,  "Zm9\xff"s, "Zm\x80v"s,   "Zm9v\0\0\0\0"s, "Zg==Zg=="s,
        "Zh=="s,   "Z/=="s,     "Zm9="s,   "Zm/="s,    "ZgA="s + "="}) {
    CAPTURE(text);
    CHECK_FALSE(decode_base64(text).has_value());
  }
  // Each byte value in each place of a group.
  for (int value = 0; value < 256; ++value)
    for (std::size_t place = 0; place < 4; ++place) {
      std::string text = "AAAAAAAA";
      text[place] = static_cast<char>(value);
      const bool is_digit =
          value < 128 && (std::isalnum(value) != 0 || value == '+' || value == '/');
      CAPTURE(text);
      CHECK(decode_base64(text).has_value() == is_digit);
    }
}
