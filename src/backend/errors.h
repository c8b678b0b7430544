// backend/errors.h: why a sandbox could not be made.
#pragma once

#include "base/error.h"

#include <string>
#include <utility>

namespace hearth::backend {

// The sandbox started and failed, or is not what was asked for.
struct SpawnError : Error {
  explicit SpawnError(const std::string& message, std::string trace = {})
      : Error(message), traceback(std::move(trace)) {}
  std::string traceback;  // of the tool or package that failed to load
};

struct ReadyTimeout : Error {
  using Error::Error;
};

}  // namespace hearth::backend
