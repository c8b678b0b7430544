// session/kept_variables.h: what a snapshot has of a session's variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::session {

struct VariableLimits {
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds time_limit{10'000};  // for pickling, and for unpickling with imports
};

struct KeptVariables {
  std::string pickle{};              // empty: there are none
  std::vector<std::string> names{};  // of those in it
  std::vector<std::string> lost{};   // could not be kept
  bool operator==(const KeptVariables&) const = default;
};

}  // namespace hearth::session
