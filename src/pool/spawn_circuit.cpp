#include "pool/spawn_circuit.h"

#include <algorithm>

namespace hearth::pool {

void SpawnCircuit::failed(Clock::Time now) {
  std::chrono::milliseconds pause = options_.first_pause;
  for (std::size_t i = 0; i < failures_ && pause < options_.longest_pause; ++i) pause *= 2;
  next_try_ = now + std::min(pause, options_.longest_pause);
  ++failures_;
}

}  // namespace hearth::pool
