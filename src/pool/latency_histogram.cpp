#include "pool/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hearth::pool {
namespace {

constexpr std::uint64_t steps = 8;

// Which of the steps of its power of two `value` is in; below 8, each value has its own.
std::size_t step_of(std::uint64_t value) {
  if (value < steps) return value;
  const auto power = static_cast<std::uint64_t>(std::bit_width(value)) - 4;
  return (power + 1) * steps + ((value >> power) & (steps - 1));
}

// The largest value of a step.
std::uint64_t end_of(std::size_t step) {
  if (step < steps) return step;
  const std::uint64_t power = step / steps - 1;
  return ((steps + step % steps + 1) << power) - 1;
}

}  // namespace

void LatencyHistogram::add(std::chrono::nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  ++counts_[std::min(step_of(value), counts_.size() - 1)];
  ++count_;
  max_ = std::max(max_, duration);
  sum_ += duration;
}

std::chrono::nanoseconds LatencyHistogram::percentile(double share) const {
  if (count_ == 0) return {};
  const auto wanted =
      static_cast<std::uint64_t>(std::max(1.0, std::ceil(share * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < counts_.size(); ++step) {
    seen += counts_[step];
    if (seen >= wanted)
      return std::min(max_, std::chrono::nanoseconds(static_cast<std::int64_t>(end_of(step))));
  }
  return max_;
}

}  // namespace hearth::pool
