// pool/spawn_policy.h: when a fleet makes another sandbox. Decides on numbers and times alone.
#pragma once

#include "async/clock.h"
#include "pool/fleet_options.h"
#include "pool/spawn_circuit.h"

#include <cstddef>

namespace hearth::pool {

// What a fleet has, and what is asked of it.
struct FleetCounts {
  std::size_t capacity = 0;   // most that may be alive or being made
  std::size_t pool_size = 0;  // as many shall be idle
  std::size_t live = 0;       // in any state
  std::size_t idle = 0;
  std::size_t spawning = 0;
  std::size_t retiring = 0;
  std::size_t returning = 0;  // leased or being cleaned, and idle again after that
  std::size_t waiting = 0;    // callers
  bool first_waits_for_memory = false;
  std::size_t cleaning_for_first = 0;  // being cleaned, and the first caller may have them
  std::size_t spoken_for = 0;          // being made for a caller that will not give them back
};

class SpawnPolicy {
 public:
  explicit SpawnPolicy(const FleetOptions& options)
      : parallel_spawns_(options.parallel_spawns),
        replacement_delay_(options.replacement_delay),
        circuit_(options.circuit) {}

  // True if a caller is in the line for which no sandbox is on its way.
  static bool is_short(const FleetCounts& counts);
  // True if such a caller needs the place of an idle sandbox that it may not have.
  static bool needs_room(const FleetCounts& counts);
  bool wants_another(const FleetCounts& counts, Clock::Time now) const;
  // True if callers wait for spawns that keep failing.
  bool is_hopeless(const FleetCounts& counts, Clock::Time now) const;

  // A lease began while others were idle: its replacement can wait.
  void delay_replacement(Clock::Time now) { replace_at_ = now + replacement_delay_; }
  // A lease has ended.
  void replace_now() { replace_at_ = {}; }
  Clock::Time replace_at() const { return replace_at_; }

  void spawn_failed(Clock::Time now) { circuit_.failed(now); }
  void spawn_succeeded() { circuit_.succeeded(); }
  const SpawnCircuit& circuit() const { return circuit_; }

 private:
  std::size_t parallel_spawns_;
  std::chrono::milliseconds replacement_delay_;
  SpawnCircuit circuit_;
  Clock::Time replace_at_{};
};

}  // namespace hearth::pool
