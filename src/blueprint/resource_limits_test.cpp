#include "blueprint/derived_limits.h"
#include "blueprint/sandbox_config.h"

#include <doctest/doctest.h>

#include <limits>

using namespace hearth::blueprint;

namespace {

std::string first_problem(const ResourceLimits& limits) {
  const Problems problems = problems_of(limits);
  return problems.size() == 1 ? to_string(problems.front()) : std::string("not exactly one");
}

}  // namespace

TEST_CASE("C3: cpu_quota is half a core unless said otherwise, and may be a fraction") {
  CHECK(ResourceLimits{}.cpu_quota == 0.5);
  CHECK(problems_of(ResourceLimits{.cpu_quota = 0.25}).empty());
}

TEST_CASE("C4: memory_mb is 256 unless said otherwise") {
  CHECK(ResourceLimits{}.memory_mb == 256);
}

TEST_CASE("C5: memory_swap_mb sets no total by default, C27: and without one nothing is swapped") {
  CHECK(ResourceLimits{}.memory_swap_mb == -1);
  CHECK(swap_mb(ResourceLimits{.memory_mb = 100}) == 0);
  CHECK(swap_mb(ResourceLimits{.memory_mb = 100, .memory_swap_mb = 0}) == 0);
  CHECK(swap_mb(ResourceLimits{.memory_mb = 100, .memory_swap_mb = 150}) == 50);
  CHECK(problems_of(ResourceLimits{}).empty());
}

TEST_CASE("C6: pids_limit is 64 unless said otherwise") {
  CHECK(ResourceLimits{}.pids_limit == 64);
}

TEST_CASE("C7: execution_timeout_sec is 30 unless said otherwise") {
  CHECK(ResourceLimits{}.execution_timeout_sec == 30);
}

TEST_CASE("C8: max_output_bytes is one mebibyte unless said otherwise") {
  CHECK(ResourceLimits{}.max_output_bytes == 1'048'576);
}

TEST_CASE("C9: memory that is zero or negative is refused at construction") {
  CHECK_THROWS_AS(validated(ResourceLimits{.memory_mb = 0}), ConfigError);
  CHECK_THROWS_AS(validated(ResourceLimits{.memory_mb = -1}), ConfigError);
  CHECK(first_problem({.memory_mb = 0}) == "memory_mb must be at least 1, is 0");
  CHECK(validated(ResourceLimits{.memory_mb = 1}).memory_mb == 1);
}

TEST_CASE("C10: memory and swap together must be more than memory alone") {
  CHECK_THROWS_AS(validated(ResourceLimits{.memory_mb = 512, .memory_swap_mb = 512}), ConfigError);
  CHECK_THROWS_AS(validated(ResourceLimits{.memory_mb = 512, .memory_swap_mb = 511}), ConfigError);
  CHECK_NOTHROW(validated(ResourceLimits{.memory_mb = 512, .memory_swap_mb = 513}));
}

TEST_CASE("C10: equal is an error whose message says so") {
  CHECK(first_problem({.memory_mb = 512, .memory_swap_mb = 512}) ==
        "memory_swap_mb is the total of memory and swap and must be more than memory_mb (512), is "
        "512, which is equal; 0 means no swap");
}

TEST_CASE("C10: zero means no swap at all, -1 unlimited, and less is refused") {
  CHECK(problems_of(ResourceLimits{.memory_swap_mb = 0}).empty());
  CHECK(problems_of(ResourceLimits{.memory_swap_mb = -1}).empty());
  CHECK(first_problem({.memory_swap_mb = -2}).starts_with("memory_swap_mb must be -1"));
}

TEST_CASE("C9: all problems of the limits are reported together") {
  try {
    validated(ResourceLimits{.cpu_quota = 0,
                             .memory_mb = 0,
                             .memory_swap_mb = -7,
                             .pids_limit = 0,
                             .execution_timeout_sec = 0,
                             .max_output_bytes = 1023});
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems.size() == 6);
    CHECK(std::string(error.what()).find("pids_limit must be at least 1, is 0") !=
          std::string::npos);
  }
}

TEST_CASE("cpu_quota that is zero, negative or no number is refused with the value") {
  CHECK(first_problem({.cpu_quota = 0}) == "cpu_quota must be more than 0 cores, is 0");
  CHECK(first_problem({.cpu_quota = -0.5}) == "cpu_quota must be more than 0 cores, is -0.5");
  CHECK(first_problem({.cpu_quota = std::numeric_limits<double>::quiet_NaN()}) ==
        "cpu_quota must be more than 0 cores, is nan");
  CHECK(first_problem({.cpu_quota = std::numeric_limits<double>::infinity()}) ==
        "cpu_quota must be more than 0 cores, is inf");
  CHECK(first_problem({.cpu_quota = 0.001}) ==
        "cpu_quota must be from 0.01 to 4096 cores, is 0.001");
}

TEST_CASE("disk reads are unlimited unless said otherwise") {
  CHECK(ResourceLimits{}.disk_read_mb_per_sec == 0);
  CHECK(problems_of(ResourceLimits{.disk_read_mb_per_sec = 1}).empty());
  CHECK(first_problem({.disk_read_mb_per_sec = -1}) ==
        "disk_read_mb_per_sec must be at least 0, is -1");
  CHECK(first_problem({.disk_read_mb_per_sec = 1'048'577})
            .starts_with("disk_read_mb_per_sec must be at most 1048576"));
}

TEST_CASE("a pids_limit below one is refused with the value") {
  CHECK(first_problem({.pids_limit = 0}) == "pids_limit must be at least 1, is 0");
  CHECK(first_problem({.pids_limit = -3}) == "pids_limit must be at least 1, is -3");
}

TEST_CASE("limits whose bytes would not fit into 64 bits are refused") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(first_problem({.memory_mb = most}).starts_with("memory_mb must be at most"));
  CHECK(first_problem({.memory_swap_mb = most}).starts_with("memory_swap_mb must be at most"));
  CHECK(first_problem({.max_output_bytes = most}).starts_with("max_output_bytes must be at most"));
  CHECK(first_problem({.execution_timeout_sec = most})
            .starts_with("execution_timeout_sec must be at most"));
}
