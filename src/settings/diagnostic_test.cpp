#include "settings/diagnostic.h"

#include "settings/field_path.h"
#include "settings/source_text.h"

#include <doctest/doctest.h>

using namespace hearth::settings;

TEST_CASE("a diagnostic looks like a compiler's, with the line and a caret") {
  const Diagnostic diagnostic{.file = "hearth.toml",
                              .line = 12,
                              .column = 3,
                              .key = "log.level",
                              .message = "must be one of text, json",
                              .excerpt = {"\tä = 1", 3}};
  CHECK(render(diagnostic, false) ==
        "hearth.toml:12:3: error: log.level must be one of text, json\n"
        "   12 |  ä = 1\n"
        "      |   ^");
  CHECK(render(diagnostic, true) ==
        "\x1b[1mhearth.toml:12:3: \x1b[0m\x1b[1;31merror: \x1b[0mlog.level must be one of text, "
        "json\n   12 |  ä = 1\n      |   \x1b[1;32m^\x1b[0m");
}

TEST_CASE("what a file holds cannot upset a terminal") {
  const std::string shown = render({.file = "a\nb",
                                    .line = 1,
                                    .column = 999,
                                    .key = "\x1b[2J",
                                    .message = "is \"\x1b\"\xff\\",
                                    .excerpt = {"\x1b[2J\x7f\xff x", 7}},
                                   false);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find('\x7f') == std::string::npos);
  CHECK(shown.find('\xff') == std::string::npos);
  CHECK(shown.find("a\\nb:1:999: error: ") == 0);
}

TEST_CASE("controls beyond ASCII and marks of direction are shown as question marks") {
  for (const std::string mark : {"\u0080", "\u009b", "\u009f", "\u061c", "\u200e", "\u200f",
                                 "\u2028", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    INFO(mark);
    const std::string shown = render({.file = mark,
                                      .line = 1,
                                      .column = 3,
                                      .key = mark,
                                      .message = mark,
                                      .excerpt = {"x" + mark + "y", 3}},
                                     false);
    CHECK(shown == "?:1:3: error: ? ?\n    1 | x?y\n      |   ^");
  }
  const std::string letters = "\u00a0\u00e4\u2027\u202f\u2065\u206a";
  CHECK(render({.file = "f", .message = letters}, false) == "f: error: " + letters);
}

TEST_CASE("a long line is cut around the place") {
  const std::string line = std::string(500, 'x') + "ä";
  for (const std::string& after : {std::string(), std::string(500, 'z')}) {
    const Excerpt excerpt = SourceText("first\n" + line + after).excerpt(2, 501);
    CHECK(excerpt.text.size() <= 121);
    CHECK(excerpt.column == 61);
    CHECK(excerpt.text.substr(excerpt.column - 1, 2) == "ä");
  }
  const Excerpt beyond = SourceText("ab").excerpt(1, 999);
  CHECK(beyond.text == "ab");
  CHECK(beyond.column == 3);
}

TEST_CASE("lines of a secrets section are not shown") {
  const SourceText source(
      "secrets.A = 1\nother = 1\r\n[secrets]\nB = 2\n[[blueprint]]\nsecrets = ['X']");
  CHECK(source.excerpt(1, 1).text.empty());
  CHECK(source.excerpt(2, 1).text == "other = 1");
  CHECK(source.excerpt(3, 1).text.empty());
  CHECK(source.excerpt(4, 1).text.empty());
  CHECK(source.excerpt(5, 1).text == "[[blueprint]]");
  CHECK(source.excerpt(6, 1).text == "secrets = ['X']");
  CHECK(source.excerpt(0, 1).text.empty());
  CHECK(source.excerpt(7, 1).text.empty());
}

TEST_CASE("a field's path is taken apart into what it was made of") {
  const std::vector<FieldStep> steps = steps_of("blueprint[12].allowed_ports.\"a.\\\"b\".\"\"[0]");
  REQUIRE(steps.size() == 6);
  CHECK(steps[0].key == "blueprint");
  CHECK((steps[1].is_index && steps[1].index == 12));
  CHECK(steps[2].key == "allowed_ports");
  CHECK(steps[3].key == "a.\"b");
  CHECK((!steps[4].is_index && steps[4].key.empty()));
  CHECK((steps[5].is_index && steps[5].index == 0));
  CHECK(steps_of("").empty());
}
