#include "base/enum_names.h"

#include <doctest/doctest.h>

using namespace hearth;

namespace {

enum class Colour { red, green, blue_2 };
enum class Single { only };

constexpr auto names_of(Colour /*type*/) {
  return enum_names<Colour>(
      {{Colour::red, "red"}, {Colour::green, "light green"}, {Colour::blue_2, "blue"}});
}

static_assert(enumerator_count<Colour>() == 3);
static_assert(enumerator_count<Single>() == 1);

}  // namespace

TEST_CASE("an enum's values are written and read with the same names") {
  CHECK(enum_name(Colour::green) == "light green");
  CHECK(enum_value<Colour>("light green") == Colour::green);
  CHECK(enum_value<Colour>("blue") == Colour::blue_2);
  CHECK_FALSE(enum_value<Colour>("green").has_value());
}
