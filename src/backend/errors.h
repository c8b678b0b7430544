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

// This machine, or the engine it uses, cannot make sandboxes. The message says what to do.
struct BackendUnavailable : Error {
  using Error::Error;
};

// A blueprint's environment cannot be built as it is declared.
struct BuildError : Error {
  BuildError(const std::string& what, std::string whole_log)
      : Error(what), log(std::move(whole_log)) {}
  std::string log;
};

}  // namespace hearth::backend
