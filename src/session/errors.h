// session/errors.h: why a session does not do what it was asked. Where all are busy it is
// pool::CapacityReached.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <utility>

namespace hearth::session {

// There is none, or it belongs to another owner: callers cannot tell the two apart.
struct SessionNotFound : Error {
  explicit SessionNotFound(const std::string& id) : Error("there is no session " + id) {}
};

// It was there.
struct SessionGone : Error {
  SessionGone(const std::string& id, std::string why, std::int64_t when)
      : Error("the session " + id + " is gone: " + why), reason(std::move(why)), removed_at(when) {}
  std::string reason;
  std::int64_t removed_at;  // milliseconds since 1970
};

// Another call uses it, and this one did not want to wait.
struct SessionBusy : Error {
  explicit SessionBusy(const std::string& id, const std::string& why = "")
      : Error("the session " + id + " is busy" + (why.empty() ? "" : ": " + why)) {}
};

}  // namespace hearth::session
