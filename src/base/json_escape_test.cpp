#include "base/json_escape.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;

namespace {

std::string escaped(std::string_view bytes) {
  std::string out;
  append_json_escaped(out, bytes);
  return out;
}

constexpr const char* replacement = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("quotes, backslashes and control characters are escaped wherever they stand in a word") {
  for (std::size_t before = 0; before < 20; ++before) {
    const std::string pad(before, 'x');
    CHECK(escaped(pad + '"' + pad) == pad + "\\\"" + pad);
    CHECK(escaped(pad + '\\' + pad) == pad + "\\\\" + pad);
    CHECK(escaped(pad + '\n' + pad) == pad + "\\n" + pad);
    CHECK(escaped(pad + '\x01' + pad) == pad + "\\u0001" + pad);
    CHECK(escaped(pad + std::string(1, '\0') + pad) == pad + "\\u0000" + pad);
    CHECK(escaped(pad + '\x7f' + pad) == pad + '\x7f' + pad);
  }
}

TEST_CASE("valid UTF-8 passes and everything else becomes replacement characters") {
  CHECK(escaped("grüße 中 😀") == "grüße 中 😀");
  CHECK(escaped("\xff") == replacement);
  CHECK(escaped("a\xc3") == std::string("a") + replacement);
  CHECK(escaped("\xc0\xaf") == std::string(replacement) + replacement);  // overlong
  CHECK(escaped("\xed\xa0\x80") == std::string(replacement) + replacement + replacement);
  CHECK(escaped("\xf4\x90\x80\x80").find('\xf4') == std::string::npos);  // beyond U+10FFFF
  for (const char* valid : {"", "\n\x7f", "grüße 中 😀"}) CHECK(is_utf8(valid));
  for (const char* invalid : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    CHECK_FALSE(is_utf8(invalid));
  CHECK(escaped("\xe4\xb8x") == std::string(replacement) + "x");  // a cut character is one mark
}

TEST_CASE("a character cut by the end of a piece is held back for the next one") {
  const std::string text = "ä中😀";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::size_t complete = complete_utf8_prefix(std::string_view(text).substr(0, cut));
    CHECK(complete <= cut);
    CHECK(escaped(text.substr(0, complete)) + escaped(text.substr(complete)) == text);
  }
  CHECK(complete_utf8_prefix("abc\xff") == 4);  // nothing can complete it
  CHECK(complete_utf8_prefix("") == 0);
}

TEST_CASE("what was written is read back, whatever it is, up to its closing quote") {
  std::string every_byte;
  for (int byte = 0; byte < 0x80; ++byte) every_byte += static_cast<char>(byte);
  for (const std::string& text :
       {std::string(), std::string("text"), std::string(64, 'x'), std::string(65, 'x'), every_byte,
        every_byte + std::string(3000, '\n'), std::string("grüße 中 😀"), std::string("\\")})
    for (std::size_t before = 0; before < 9; ++before) {
      const std::string padded = std::string(before, 'x') + text;
      std::string json;
      append_json_string(json, padded);
      json += ",\"next\"";
      std::string_view rest = json;
      CHECK(take_json_string(rest) == padded);
      CHECK(rest == ",\"next\"");
    }
}

TEST_CASE("a string that is written in another way is left to the parser") {
  for (const std::string_view json :
       {"", "x", "\"", "\"x", "\"\\\"", "\"\\n", "\"\\u0041\"", "\"\\u001F\"", "\"\\u00\"",
        "\"\\/\"", "\"a\nb\"", "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\""}) {
    std::string_view rest = json;
    CHECK_FALSE(take_json_string(rest));
    CHECK(rest == json);
  }
}

TEST_CASE("a string takes no more room than it has, however much follows") {
  const std::string json = R"("a\n")" + std::string(1'000'000, 'x');
  std::string_view rest = json;
  const std::optional<std::string> text = take_json_string(rest);
  REQUIRE(text == "a\n");
  CHECK(text->capacity() < 100);
}
