#include "pool/owner.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;
using namespace hearth::pool;

TEST_CASE("owners of one name are one owner") {
  CHECK(Owner("ann") == Owner(std::string("ann")));
  CHECK_FALSE(Owner("ann") == Owner("bob"));
  CHECK(Owner("ann").is_named());
}

TEST_CASE("an owner without a name equals no other, not even one that has its name") {
  const Owner one = Owner::unique();
  CHECK(one == one);
  CHECK_FALSE(one == Owner::unique());
  CHECK_FALSE(one == Owner(one.name()));
  CHECK_FALSE(one.is_named());
}

TEST_CASE("an empty name is no owner") { CHECK_THROWS_AS(Owner(""), Error); }
