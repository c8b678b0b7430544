// docker/engine_error.h: what can go wrong between us and a Docker engine.
#pragma once

#include "backend/errors.h"

#include <string>
#include <utility>

namespace hearth::docker {

// The engine answered, and refused.
struct EngineError : Error {
  EngineError(const std::string& what, unsigned code, std::string words)
      : Error(what + ": " + words), status(code), message(std::move(words)) {}
  unsigned status;      // of HTTP
  std::string message;  // the engine's own
};

// There is no engine, it is out of reach, or its answer broke off. Says what to do where that is
// known.
struct EngineUnreachable : backend::BackendUnavailable {
  using BackendUnavailable::BackendUnavailable;
};

// It took longer than the call was given.
struct EngineTimeout : EngineUnreachable {
  using EngineUnreachable::EngineUnreachable;
};

}  // namespace hearth::docker
