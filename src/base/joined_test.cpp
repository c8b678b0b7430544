#include "base/joined.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <vector>

using namespace hearth;

TEST_CASE("joined words have the separator between them and nowhere else") {
  CHECK(joined(std::vector<std::string>{}, ", ").empty());
  CHECK(joined(std::vector<std::string>{"one"}, ", ") == "one");
  CHECK(joined(std::set<std::string>{"a", "b", "c"}, "; ") == "a; b; c");
  CHECK(joined(std::array<std::string_view, 3>{"", "x", ""}, ",") == ",x,");
  CHECK(joined(std::array{1, 22}, "-", [](int number) { return std::to_string(number); }) ==
        "1-22");
}
