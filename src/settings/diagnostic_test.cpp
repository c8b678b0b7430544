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
                              .source_line = "\tä = 1"};
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
                                    .source_line = "\x1b[2J\x7f\xff x"},
                                   false);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find('\x7f') == std::string::npos);
  CHECK(shown.find('\xff') == std::string::npos);
  CHECK(shown.find("a\\nb:1:999: error: ") == 0);
}

TEST_CASE("a long line is cut around the place") {
  const std::string shown = render(
      {.file = "f", .line = 1, .column = 501, .source_line = std::string(500, 'x') + "Y"}, false);
  CHECK(shown.size() < 300);
  const std::size_t caret = shown.rfind('^');
  const std::size_t line_start = shown.rfind('\n') + 1;
  const std::size_t excerpt_start = shown.rfind('\n', line_start - 2) + 1;
  CHECK(shown[excerpt_start + (caret - line_start)] == 'Y');
}

TEST_CASE("lines of a secrets section are not shown") {
  const SourceText source(
      "secrets.A = 1\nother = 1\r\n[secrets]\nB = 2\n[[blueprint]]\nsecrets = ['X']");
  CHECK(source.showable_line(1).empty());
  CHECK(source.showable_line(2) == "other = 1");
  CHECK(source.showable_line(3).empty());
  CHECK(source.showable_line(4).empty());
  CHECK(source.showable_line(5) == "[[blueprint]]");
  CHECK(source.showable_line(6) == "secrets = ['X']");
  CHECK(source.showable_line(0).empty());
  CHECK(source.showable_line(7).empty());
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
