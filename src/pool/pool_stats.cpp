#include "pool/pool_stats.h"

namespace hearth::pool {

std::string_view name_of(CheckoutKind path) {
  constexpr std::array<std::string_view, checkout_kinds> names{"warm", "overflow", "blocked"};
  return names[static_cast<std::size_t>(path)];
}

std::string_view name_of(Retirement reason) {
  constexpr std::array<std::string_view, retirements> names{
      "used_up",      "surplus", "aged",    "other_owner", "reset_failed",
      "probe_failed", "lost",    "crashed", "unbound",     "shutdown"};
  return names[static_cast<std::size_t>(reason)];
}

}  // namespace hearth::pool
