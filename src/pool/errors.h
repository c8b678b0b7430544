// pool/errors.h: why a checkout gets no sandbox.
#pragma once

#include "base/error.h"

#include <string>
#include <utility>

namespace hearth::pool {

// No sandbox came free while the caller was willing to wait.
struct CapacityReached : Error {
  using Error::Error;
};
struct PoolClosed : Error {
  using Error::Error;
};
// Not tried, because so many spawns before it failed. `cause` is what the last one said.
struct SpawningFails : Error {
  SpawningFails(const std::string& message, std::string why)
      : Error(message), cause(std::move(why)) {}
  std::string cause;
};

}  // namespace hearth::pool
