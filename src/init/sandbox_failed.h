// init/sandbox_failed.h: no turn can run in this sandbox any more. Init reports why to the host and
// exits.
#pragma once

#include "base/error.h"

#include <string>
#include <utility>

namespace hearth::init {

struct SandboxFailed : Error {
  explicit SandboxFailed(const std::string& why, std::string python_traceback = {})
      : Error(why), traceback(std::move(python_traceback)) {}
  std::string traceback;
};

}  // namespace hearth::init
