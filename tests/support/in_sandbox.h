// tests/support/in_sandbox.h: what a script in a native sandbox saw, for comparison.
#pragma once

#include "tests/support/native_sandbox.h"

#include <doctest/doctest.h>

#include <string>

namespace hearth::test {

// What it printed. Fails the test if it did not come to its end.
inline std::string printed(NativeSandboxes& sandboxes, backend::Sandbox& sandbox,
                           const std::string& script) {
  const auto result = sandboxes.run_in(sandbox, script, 60);
  INFO("error: ", result.error ? result.error->traceback : "none");
  INFO("stderr: ", result.stderr_text, " detail: ", result.detail);
  REQUIRE(execution::name_of(result.verdict) == "ok");
  return result.stdout_text;
}

inline std::string printed(NativeSandboxes& sandboxes, const std::string& script) {
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  return printed(sandboxes, *sandbox, script);
}

inline std::string printed(const std::string& script) {
  NativeSandboxes sandboxes;
  return printed(sandboxes, script);
}

}  // namespace hearth::test
