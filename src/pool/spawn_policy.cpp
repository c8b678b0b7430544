#include "pool/spawn_policy.h"

namespace hearth::pool {
namespace {

// The first caller in the line has a sandbox and waits for memory: another sandbox would not help.
bool waits_for_sandbox(const FleetCounts& counts) {
  return counts.waiting > 0 && !counts.first_waits_for_memory;
}

bool is_full(const FleetCounts& counts) { return counts.live + counts.spawning >= counts.capacity; }

}  // namespace

bool SpawnPolicy::is_short(const FleetCounts& counts) {
  return waits_for_sandbox(counts) && counts.spawning + counts.cleaning_for_first < counts.waiting;
}

bool SpawnPolicy::needs_room(const FleetCounts& counts) {
  return waits_for_sandbox(counts) && is_full(counts) &&
         counts.spawning + counts.retiring + counts.cleaning_for_first < counts.waiting;
}

bool SpawnPolicy::wants_another(const FleetCounts& counts, Clock::Time now) const {
  if (is_full(counts) || counts.spawning >= parallel_spawns_) return false;
  const bool may_try = circuit_.may_try(now);
  // One is enough to see whether it works again.
  if (circuit_.is_open()) return may_try && counts.spawning == 0;
  if (is_short(counts)) return true;
  // Ahead of demand.
  const std::size_t warm = counts.idle + counts.returning + counts.spawning - counts.spoken_for;
  return may_try && warm < counts.pool_size && (counts.idle == 0 || now >= replace_at_);
}

bool SpawnPolicy::is_hopeless(const FleetCounts& counts, Clock::Time now) const {
  return circuit_.is_open() && counts.spawning == 0 && !circuit_.may_try(now) && is_short(counts);
}

}  // namespace hearth::pool
