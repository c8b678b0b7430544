#include "pool/latency_histogram.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace hearth::pool;
using std::chrono::nanoseconds;

TEST_CASE("an empty histogram has no times") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.percentile(0.5).count() == 0);
}

TEST_CASE("a percentile is never too low, and at most an eighth too high") {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> values;
  LatencyHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (20 + random() % 44));
    values.push_back(value);
    histogram.add(nanoseconds(value));
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact = values[static_cast<std::size_t>(share * 20'000) - 1];
    const auto told = histogram.percentile(share).count();
    CAPTURE(share);
    CHECK(told >= exact);
    CHECK(static_cast<double>(told) <= static_cast<double>(exact) * 1.126 + 1);
  }
  CHECK(histogram.max().count() == values.back());
  CHECK(histogram.percentile(1) == histogram.max());
}
