#include "base/nearest.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hearth;

TEST_CASE("a swapped pair of letters counts as one slip, like a missing or a wrong one") {
  CHECK(edit_distance("memory", "memory") == 0);
  CHECK(edit_distance("memroy", "memory") == 1);
  CHECK(edit_distance("memry", "memory") == 1);
  CHECK(edit_distance("memoryy", "memory") == 1);
  CHECK(edit_distance("mexory", "memory") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
}

TEST_CASE("the nearest name is suggested, and a stranger is not") {
  const std::vector<std::string> known = {"name", "pool_size", "secrets", "scratch_size_mb"};
  CHECK(nearest("pool_sise", known) == "pool_size");
  CHECK(nearest("nmae", known) == "name");
  CHECK(nearest("scratch_size", known) == "scratch_size_mb");
  CHECK(nearest("network", known) == std::nullopt);
  CHECK(nearest("", known) == std::nullopt);
  CHECK(nearest(std::string(1'000'000, 'x'), known) == std::nullopt);
  CHECK(suggestion("secret", known) == "; did you mean \"secrets\"?");
  CHECK(suggestion("unlike anything", known).empty());
}

TEST_CASE("a word of other letters is no slip, and capital letters are none at all") {
  const std::vector<std::string> known = {"a", "id"};
  CHECK(nearest("b", known) == std::nullopt);
  CHECK(nearest("A", known) == "a");
  CHECK(nearest("is", known) == "id");
  CHECK(nearest("LEVEL", std::vector<std::string>{"level"}) == "level");
}
