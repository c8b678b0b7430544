// tests/support/clean_turn.h: what every attack is followed by.
#pragma once

#include "tests/support/sandbox_process.h"

#include <doctest/doctest.h>

namespace hearth::test {

// The next turn in the same sandbox is as if nothing had happened before it.
inline void check_clean_turn(Sandbox& sandbox) {
  Sandbox::Events events;
  const auto result = sandbox.run(request_for("print('clean')"), events);
  CHECK(result.verdict == execution::Verdict::ok);
  CHECK(result.stdout_text == "clean\n");
  CHECK(result.foreign_events == 0);
  CHECK(result.sandbox_usable);
  // Text and the end, and not one event more.
  CHECK(events.size() == 2);
}

}  // namespace hearth::test
