#include "base/printable.h"

#include <doctest/doctest.h>

using hearth::printable;
using hearth::printable_line;

TEST_CASE("what a terminal would obey is shown as its bytes") {
  CHECK(printable("\x1b]52;c;aGk=\x07") == "\\x1b]52;c;aGk=\\x07");
  CHECK(printable("a\rb\x7f") == "a\\x0db\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("bytes that are no UTF-8 are shown as such, and everything else as it is") {
  CHECK(printable("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5") ==
        "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("").empty());
}

TEST_CASE("lines stay lines, but for a text that has to be one") {
  CHECK(printable("one\n\ttwo\n") == "one\n\ttwo\n");
  CHECK(printable_line("one\n\ttwo") == "one\\x0a\\x09two");
}
