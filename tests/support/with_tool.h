// tests/support/with_tool.h: an environment whose zygote has loaded a tool.
#pragma once

#include "tests/support/native_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <string>

namespace hearth::test {

struct WithTool {
  explicit WithTool(const std::string& source) {
    tools.write("tool.py", source);
    environment.tools = tools.path();
  }

  const TemporaryDirectory tools;
  native::ZygoteContent environment = plain_environment();
};

}  // namespace hearth::test
