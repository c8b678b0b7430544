// pool/pool_stats.h: what a pool has, and what it has done so far.
#pragma once

#include "base/enum_names.h"
#include "pool/latency_histogram.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hearth::pool {

// How a checkout came to its sandbox.
enum class CheckoutKind {
  warm,      // one was idle
  overflow,  // one was made for it
  blocked,   // it had to wait until another was given back
};
inline constexpr std::size_t checkout_kinds = enumerator_count<CheckoutKind>();
constexpr auto names_of(CheckoutKind /*type*/) {
  return enum_names<CheckoutKind>({{CheckoutKind::warm, "warm"},
                                   {CheckoutKind::overflow, "overflow"},
                                   {CheckoutKind::blocked, "blocked"}});
}
constexpr std::string_view name_of(CheckoutKind kind) { return enum_name(kind); }

// Why a sandbox was not used any longer.
enum class Retirement {
  used_up,       // as often as one may be used
  surplus,       // more idle ones than wanted
  aged,          // too old
  other_owner,   // its place was needed for one whose code it has not run
  reset_failed,  // not clean again
  probe_failed,  // idle for long and not what it was
  lost,          // its stream broke, or a lease left it unusable
  crashed,       // it exited by itself
  shutdown,
};
inline constexpr std::size_t retirements = enumerator_count<Retirement>();
constexpr auto names_of(Retirement /*type*/) {
  return enum_names<Retirement>({{Retirement::used_up, "used_up"},
                                 {Retirement::surplus, "surplus"},
                                 {Retirement::aged, "aged"},
                                 {Retirement::other_owner, "other_owner"},
                                 {Retirement::reset_failed, "reset_failed"},
                                 {Retirement::probe_failed, "probe_failed"},
                                 {Retirement::lost, "lost"},
                                 {Retirement::crashed, "crashed"},
                                 {Retirement::shutdown, "shutdown"}});
}
constexpr std::string_view name_of(Retirement reason) { return enum_name(reason); }

struct FleetStats {
  std::size_t capacity = 0;
  std::size_t live = 0;  // all that has a process: idle, leased, being cleaned, on its way out
  std::size_t idle = 0;
  std::size_t leased = 0;
  std::size_t cleaning = 0;
  std::size_t spawning = 0;
  std::size_t waiting = 0;

  std::array<std::uint64_t, checkout_kinds> checkouts{};  // by CheckoutKind
  std::uint64_t refused = 0;                              // checkouts that got none
  std::uint64_t spawned = 0;
  std::uint64_t spawn_failures = 0;
  std::array<std::uint64_t, retirements> retired{};  // by Retirement
  LatencyHistogram waits;                            // of checkouts that got one
  LatencyHistogram spawns;
};

struct PoolStats {
  std::map<std::string, FleetStats> blueprints;  // by name
  std::uint64_t memory_total_bytes = 0;          // that may be promised
  std::uint64_t memory_taken_bytes = 0;
};

}  // namespace hearth::pool
