// blueprint/problem.h: what is wrong with a configuration: where and why. All problems are reported
// together, so that an operator fixes a file once.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blueprint {

// `field` and `message` read as one sentence: "pool_size" + "must be at least 0, is -1".
struct Problem {
  std::string field;
  std::string message;
  bool about_key = false;     // the key itself is wrong, not its value
  bool confidential = false;  // what stands there may be a secret: never show it
  bool operator==(const Problem&) const = default;
};
using Problems = std::vector<Problem>;

std::string to_string(const Problem& problem);

struct ConfigError : Error {
  // `subject` reads like `sandbox "default"`.
  ConfigError(std::string_view subject, Problems found);
  Problems problems;
};

// A value as it may stand in a message: quoted, escaped, cut when it is long.
std::string in_quotes(std::string_view value);

// The fields of `inner` seen from outside: "memory_mb" becomes "resource_limits.memory_mb".
void append_under(Problems& outer, std::string_view prefix, Problems inner);

std::string element_of(std::string_view list, std::size_t index);
// `key` is quoted where a bare one would be ambiguous: allowed_ports."api.example.com".
std::string member_of(std::string_view object, std::string_view key);

}  // namespace hearth::blueprint
