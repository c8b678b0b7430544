#include "base/scope_exit.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace hearth;

TEST_CASE("a scope exit runs once, at the end of its scope") {
  int calls = 0;
  {
    const ScopeExit count([&] { ++calls; });
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
}

TEST_CASE("a scope exit runs when an exception leaves its scope") {
  int calls = 0;
  const auto fail = [&] {
    const ScopeExit count([&] { ++calls; });
    throw std::runtime_error("no luck");
  };
  CHECK_THROWS_AS(fail(), std::runtime_error);
  CHECK(calls == 1);
}
