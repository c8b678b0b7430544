// base/error.h: what Hearth throws when it, not a script, cannot do its work.
// Types that only one module throws stand in that module.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The kernel refused. `step` reads like "mount /proc".
struct OsError : Error {
  explicit OsError(std::string_view step, int error_number = errno)
      : Error(std::string(step) + ": " + std::strerror(error_number)), code(error_number) {}
  int code;
};

}  // namespace hearth
