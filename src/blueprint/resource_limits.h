// blueprint/resource_limits.h: what a script and its processes may use.
#pragma once

#include "blueprint/problem.h"

#include <cstdint>

namespace hearth::blueprint {

struct ResourceLimits {
  double cpu_quota = 0.5;  // cores
  std::int64_t memory_mb = 256;
  std::int64_t memory_swap_mb = -1;         // memory and swap together; -1 and 0: no swap
  std::int64_t pids_limit = 64;             // processes and threads
  std::int64_t execution_timeout_sec = 30;  // wall clock
  std::int64_t max_output_bytes = 1'048'576;
  std::int64_t disk_read_mb_per_sec = 0;  // from each disk of the host; 0: unlimited
  bool operator==(const ResourceLimits&) const = default;
};

Problems problems_of(const ResourceLimits& limits);
// Throws ConfigError with every problem.
ResourceLimits validated(ResourceLimits limits);

}  // namespace hearth::blueprint
