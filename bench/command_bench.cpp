#include "bench/command_bench.h"

#include "base/error.h"
#include "tests/support/native_sandbox.h"

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace hearth::bench {
namespace {

using BenchClock = std::chrono::steady_clock;

constexpr int rounds = 20;
constexpr int in_a_row = 20;

// Not by fork: Python's memory would be copied for it. Prints microseconds.
constexpr const char* spawn_true = R"(
import os, time
for _ in range(20):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    print((time.perf_counter() - begin) * 1e6)
)";

double exec_microseconds(test::NativeSandboxes& sandboxes, backend::Sandbox& sandbox) {
  execution::ScriptExecutor executor(sandbox);
  wire::ExecRequest request;
  request.execution_id = "bench";
  request.argv = {"/bin/true"};
  const auto begin = BenchClock::now();
  const auto result = test::run_task(sandboxes.loop(), executor.run(request));
  const std::chrono::duration<double, std::micro> taken = BenchClock::now() - begin;
  if (result.verdict != execution::Verdict::ok) throw Error("true failed: " + result.detail);
  return taken.count();
}

}  // namespace

void measure_commands(Report& report) {
  blueprint::SandboxConfig config;
  config.resource_limits.cpu_quota = 64;
  test::NativeSandboxes sandboxes(config);
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  std::vector<double> ours;
  std::vector<double> inside;
  for (int round = 0; round < rounds; ++round) {
    for (int again = 0; again < in_a_row; ++again)
      ours.push_back(exec_microseconds(sandboxes, *sandbox));
    std::istringstream samples(sandboxes.run_in(*sandbox, spawn_true).stdout_text);
    for (double sample = 0; samples >> sample;) inside.push_back(sample);
  }
  const auto add = [&](const char* name, double share, const char* goal) {
    report.add({name, percentile(ours, share), "us", "posix_spawn of it by a script there",
                percentile(inside, share), goal});
  };
  add("exec true in a warm sandbox, p50", 0.5, "at most 1,000 us more");
  add("exec true in a warm sandbox, p90", 0.9, "");
}

}  // namespace hearth::bench
