// pool/latency_histogram.h: how long things took, counted in steps of an eighth of a power of two:
// a percentile is at most 12 percent too high, in a fixed amount of memory.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace hearth::pool {

class LatencyHistogram {
 public:
  void add(std::chrono::nanoseconds duration);

  std::uint64_t count() const { return count_; }
  std::chrono::nanoseconds max() const { return max_; }
  std::chrono::nanoseconds sum() const { return sum_; }
  // `share` from 0 to 1: 0.99 is a time that 99 percent did not exceed. 0 if nothing was added.
  std::chrono::nanoseconds percentile(double share) const;

 private:
  static constexpr int steps_per_power = 8;
  static constexpr int powers = 48;  // of a nanosecond: up to three days
  std::array<std::uint64_t, std::size_t{steps_per_power} * powers> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds max_{};
  std::chrono::nanoseconds sum_{};
};

}  // namespace hearth::pool
