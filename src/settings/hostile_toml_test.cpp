#include "settings/load.h"
#include "settings/toml_guard.h"

#include <doctest/doctest.h>

using namespace hearth::settings;

namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t index = 0; index < times; ++index) all += text;
  return all;
}

// Whatever stands in a file, the answer is an error with a place, never a crash.
void refuses(const std::string& text) {
  try {
    load_settings({"h.toml", text, {}, {}});
    FAIL("accepted");
  } catch (const SettingsError& error) {
    CHECK(error.diagnostics.front().line > 0);
    for (const Diagnostic& diagnostic : error.diagnostics) {
      const std::string shown = render(diagnostic, false);
      CHECK(shown.size() < 10'000);
    }
  }
}

}  // namespace

TEST_CASE("nesting of any kind is refused before it can overflow a stack") {
  refuses(repeated("a.", 1'000'000) + "a = 1");
  refuses('[' + repeated("a.", 1'000'000) + "a]");
  refuses("[[" + repeated("\"a\" . ", 1'000'000) + "a]]");
  refuses("a = " + repeated("[", 1'000'000));
  refuses("a = " + repeated("{a=", 1'000'000));
  refuses("a = " + repeated("[\n", 1'000'000));
  refuses("a = " + repeated("{a.a.a.a.a.a.a.a=", 100'000));
  refuses("a = " + repeated("[{'a'.\"a\".a=", 100'000));
  refuses("a = '''" + repeated("'", 2) + "''' \n" + repeated("a.", 100'000) + "a = 1");
}

TEST_CASE("dots and brackets in strings and comments are no nesting") {
  const std::string dots = repeated("a.[{", 1000);
  for (const std::string& text :
       {"# " + dots + "\n", "[state]\ndir = \"/" + dots + "\"\n",
        "[state]\ndir = '/" + dots + "'\n",
        "[state]\ndir = \"\"\"/" + dots + "\n\\\"\"\" " + dots + "\"\"\"\"\"\n",
        "[state]\ndir = '''/" + dots + "\n'' " + dots + "'''''\n",
        "[state]\ndir = \"/\\\\\"  # " + dots + "\n"}) {
    INFO(text.substr(0, 40));
    CHECK_FALSE(find_excessive_nesting(text));
    CHECK_NOTHROW(load_settings({"h.toml", text, {}, {}}));
  }
}

TEST_CASE("letters beyond ASCII are refused outside strings and comments") {
  for (const char* letter : {"к", "\u00a0", "\u1680", "\ufeff", "中", "😀", "\xff", "\xc3"}) {
    refuses(std::string(" ") + letter);
    refuses(std::string("[log]\n") + letter + " = 1\n");
    refuses(std::string("a = ") + letter);
    refuses(std::string("[") + letter + ']');
    refuses(std::string("a = [1, ") + letter + "]");
  }
  CHECK_NOTHROW(load_settings({"h.toml", "# к\n[state]\ndir = '/к'\n", {}, {}}));
  // A letter right after a line's final backslash and its blanks.
  CHECK(load_settings({"h.toml", "[state]\ndir = \"\"\"/\\\n  к\"\"\"\n", {}, {}})
            .settings.state.dir == "/к");
  CHECK_NOTHROW(load_settings({"h.toml", "\ufeff[state]\ndir = '/x'\n", {}, {}}));
}

TEST_CASE("what the TOML library only asserts is an error at its line") {
  try {
    load_settings({"h.toml", "[log]\nlevel = 'info'\n\n[[[x]]\n[pool]\n", {}, {}});
    FAIL("accepted");
  } catch (const SettingsError& error) {
    REQUIRE(error.diagnostics.size() == 1);
    CHECK(render(error.diagnostics[0], false) ==
          "h.toml:4:1: error: this line is not TOML\n    4 | [[[x]]\n      | ^");
  }
}

TEST_CASE("odd keys and long lines are shown safely") {
  refuses("\"a\\u0000b\\u001b[31m\" = 1");
  refuses("\"" + repeated("x", 1'000'000) + "\" = 1");
  refuses("\"\\\"]['.\" = { \"\" = 1 }");
  refuses(repeated(" ", 1'000'000) + "x = 1");
  refuses("ключ = 1");
  refuses("\"ключ\" = 1");
}

TEST_CASE("the first of many errors are there in their order, and the rest is counted") {
  std::string text;
  for (int index = 0; index < 20'000; ++index) text += "k" + std::to_string(index) + " = 1\n";
  try {
    load_settings({"h.toml", text, {}, {}});
    FAIL("accepted");
  } catch (const SettingsError& error) {
    REQUIRE(error.diagnostics.size() == 100);
    for (std::size_t index = 0; index < 100; ++index) {
      CHECK(error.diagnostics[index].line == index + 1);
      CHECK(error.diagnostics[index].excerpt.text == "k" + std::to_string(index) + " = 1");
    }
    CHECK(error.left_out == 19'900);
    CHECK(std::string(error.what()).size() < 1000);
    CHECK(std::string(error.what()).ends_with("(and 19999 more)"));
    CHECK(render(error, false).ends_with("\n... and 19900 more\n"));
  }
}

TEST_CASE("many errors on one long line do not take its size for each of them") {
  std::string text = "[[blueprint]]\nname = 'd'\ndependencies = [";
  for (int index = 0; index < 60'000; ++index) text += "'-" + std::to_string(index) + "',";
  try {
    load_settings({"h.toml", text + "]", {}, {}});
    FAIL("accepted");
  } catch (const SettingsError& error) {
    CHECK(error.diagnostics.size() == 100);
    CHECK(error.left_out == 59'900);
    for (const Diagnostic& diagnostic : error.diagnostics)
      CHECK(diagnostic.excerpt.text.size() <= 120);
  }
}
