// pool/fleet_options.h: how a fleet behaves. The same for the fleets of all blueprints of a pool.
#pragma once

#include "pool/spawn_circuit.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hearth::pool {

struct FleetOptions {
  std::size_t max_overflow = 10;
  std::uint64_t max_uses = 1;
  std::size_t parallel_spawns = 1;
  // From a checkout that leaves others idle to the spawn of a replacement. A spawn takes CPU time
  // from the turn that has just begun, and most turns are over by then.
  std::chrono::milliseconds replacement_delay{5};
  std::chrono::seconds max_age{3600};
  std::chrono::seconds probe_after{60};  // idle
  std::chrono::milliseconds reset_limit{5000};
  std::chrono::milliseconds probe_limit{5000};
  std::chrono::milliseconds file_limit{30'000};  // for each file of a checkout
  CircuitOptions circuit{};
};

}  // namespace hearth::pool
