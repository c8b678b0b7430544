#include "blueprint/resource_limits.h"

#include "blueprint/checks.h"

#include <fmt/format.h>

#include <cmath>

namespace hearth::blueprint {
namespace {

constexpr std::int64_t most_memory_mb = 16'777'216;  // 16 TiB
constexpr double most_cores = 4096;
constexpr double fewest_cores = 0.01;          // the kernel's shortest quota: 1 ms of 100 ms
constexpr std::int64_t most_pids = 4'194'304;  // the kernel's PID_MAX_LIMIT
constexpr std::int64_t longest_timeout_sec = 604'800;  // a week
constexpr std::int64_t least_output_bytes = 1024;      // an error and its traceback should fit
constexpr std::int64_t most_output_bytes = 1'073'741'824;
constexpr std::int64_t most_disk_mb_per_sec = 1'048'576;  // a terabyte

void check_cpu(Problems& problems, double cpu_quota) {
  if (!std::isfinite(cpu_quota) || cpu_quota <= 0) {
    problems.push_back({"cpu_quota", fmt::format("must be more than 0 cores, is {}", cpu_quota)});
  } else if (cpu_quota < fewest_cores || cpu_quota > most_cores) {
    problems.push_back({"cpu_quota", fmt::format("must be from {} to {} cores, is {}", fewest_cores,
                                                 most_cores, cpu_quota)});
  }
}

void check_swap(Problems& problems, const ResourceLimits& limits) {
  const std::int64_t swap = limits.memory_swap_mb;
  if (swap == -1 || swap == 0) return;
  if (swap < -1) {
    problems.push_back(
        {"memory_swap_mb",
         fmt::format("must be -1 or 0 (no swap), or more than memory_mb, is {}", swap)});
  } else if (swap <= limits.memory_mb) {
    // It counts memory and swap together, so "equal" would be a second way to say "none".
    problems.push_back(
        {"memory_swap_mb",
         fmt::format(
             "is the total of memory and swap and must be more than memory_mb ({}), is {}{}; "
             "0 means no swap",
             limits.memory_mb, swap, swap == limits.memory_mb ? ", which is equal" : "")});
  } else if (swap > 2 * most_memory_mb) {
    problems.push_back(
        {"memory_swap_mb", fmt::format("must be at most {}, is {}", 2 * most_memory_mb, swap)});
  }
}

}  // namespace

Problems problems_of(const ResourceLimits& limits) {
  Problems problems;
  check_cpu(problems, limits.cpu_quota);
  check_range(problems, "memory_mb", limits.memory_mb, 1, most_memory_mb);
  check_swap(problems, limits);
  check_range(problems, "pids_limit", limits.pids_limit, 1, most_pids);
  check_range(problems, "execution_timeout_sec", limits.execution_timeout_sec, 1,
              longest_timeout_sec);
  check_range(problems, "max_output_bytes", limits.max_output_bytes, least_output_bytes,
              most_output_bytes);
  check_range(problems, "disk_read_mb_per_sec", limits.disk_read_mb_per_sec, 0,
              most_disk_mb_per_sec);
  return problems;
}

ResourceLimits validated(ResourceLimits limits) {
  if (Problems problems = problems_of(limits); !problems.empty())
    throw ConfigError("resource_limits", std::move(problems));
  return limits;
}

}  // namespace hearth::blueprint
