// pool/spawn_circuit.h: whether to try another spawn after some have failed. Decides on times
// alone.
#pragma once

#include "async/clock.h"

#include <chrono>
#include <cstddef>

namespace hearth::pool {

struct CircuitOptions {
  std::chrono::milliseconds first_pause{100};  // doubled with each failure
  // Short: what spawning needs may be back any moment, and one attempt costs little.
  std::chrono::milliseconds longest_pause{3000};
  std::size_t opens_after = 5;  // failures in a row
};

class SpawnCircuit {
 public:
  explicit SpawnCircuit(const CircuitOptions& options) : options_(options) {}

  void failed(Clock::Time now);
  void succeeded() { failures_ = 0; }

  // Spawns keep failing: no caller should wait for one.
  bool is_open() const { return failures_ >= options_.opens_after; }
  // When the next spawn ahead of demand may be tried, or any spawn while it is open.
  Clock::Time next_try() const { return next_try_; }
  bool may_try(Clock::Time now) const { return failures_ == 0 || now >= next_try_; }
  std::size_t failures() const { return failures_; }

 private:
  CircuitOptions options_;
  std::size_t failures_ = 0;
  Clock::Time next_try_{};
};

}  // namespace hearth::pool
