// The limits of a sandbox as the kernel has them, with cgroups of either version.
#include "backend/layout.h"
#include "native/native_sandbox.h"
#include "os/read_file.h"
#include "tests/support/native_sandbox.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace hearth;
using namespace hearth::test;
namespace fs = std::filesystem;

namespace {

// What the kernel says of one group, in the files of its version.
class KernelLimits {
 public:
  explicit KernelLimits(backend::Sandbox& sandbox)
      : directories_(dynamic_cast<native::NativeSandbox&>(sandbox).cgroup()->directories()) {}

  std::string memory() const {
    return has("memory.max") ? of("memory.max") : of("memory.limit_in_bytes");
  }
  std::string pids() const { return of("pids.max"); }
  // Microseconds of CPU time, and of the period in which a sandbox has them.
  std::string cpu() const {
    return has("cpu.max") ? of("cpu.max") : of("cpu.cfs_quota_us") + " " + of("cpu.cfs_period_us");
  }
  // Beside memory.
  std::string swap() const {
    if (has("memory.swap.max")) return of("memory.swap.max");
    return std::to_string(std::stoll(of("memory.memsw.limit_in_bytes")) - std::stoll(memory()));
  }
  bool counts_swap() const { return has("memory.swap.max") || has("memory.memsw.limit_in_bytes"); }

 private:
  bool has(const char* file) const { return !directory_of(file).empty(); }
  fs::path directory_of(const char* file) const {
    for (const fs::path& directory : directories_)
      if (fs::exists(directory / file)) return directory;
    return {};
  }
  std::string of(const char* file) const {
    std::string text = os::read_file(directory_of(file) / file, 100);
    text.resize(text.find('\n'));
    return text;
  }

  std::vector<fs::path> directories_;
};

std::string bytes(std::int64_t megabytes) { return std::to_string(megabytes << 20); }

}  // namespace

TEST_CASE("C3: C4: C6: the limits of a blueprint are those of its sandboxes in the kernel") {
  NativeSandboxes usual;
  const auto sandbox = usual.spawn();
  const KernelLimits limits(*sandbox);
  CHECK(limits.cpu() == "50000 100000");
  CHECK(limits.memory() == bytes(256));
  CHECK(limits.pids() == std::to_string(64 + backend::layout::own_processes));

  blueprint::SandboxConfig config;
  config.resource_limits.cpu_quota = 1.25;
  config.resource_limits.memory_mb = 100;
  config.resource_limits.pids_limit = 20;
  NativeSandboxes others(config);
  const auto other = others.spawn();
  CHECK(KernelLimits(*other).cpu() == "125000 100000");
  CHECK(KernelLimits(*other).memory() == bytes(100));
  CHECK(KernelLimits(*other).pids() == std::to_string(20 + backend::layout::own_processes));
}

TEST_CASE("C5: C27: a sandbox has the swap that its blueprint asks for, by default none") {
  blueprint::SandboxConfig config;
  config.resource_limits.memory_mb = 100;
  const auto swap_with = [&](std::int64_t total) {
    config.resource_limits.memory_swap_mb = total;
    NativeSandboxes sandboxes(config);
    const auto sandbox = sandboxes.spawn();
    const KernelLimits limits(*sandbox);
    return limits.counts_swap() ? limits.swap() : "not counted";
  };
  const std::string by_default = swap_with(-1);
  if (by_default == "not counted") {
    MESSAGE("not tested: this kernel does not count swap");
    return;
  }
  CHECK(by_default == "0");
  CHECK(swap_with(0) == "0");
  CHECK(swap_with(150) == bytes(50));
}

TEST_CASE("C3: C5: limits that a lease tightens are tightened in the kernel, and widened again") {
  blueprint::SandboxConfig config;
  config.resource_limits.memory_mb = 100;
  config.resource_limits.memory_swap_mb = 150;
  NativeSandboxes sandboxes(config);
  const auto sandbox = sandboxes.spawn();
  const KernelLimits limits(*sandbox);
  const auto set = [&](const blueprint::ResourceLimits& wanted) {
    run_task(sandboxes.loop(), sandbox->set_limits(wanted));
  };
  blueprint::ResourceLimits tight = config.resource_limits;
  tight.cpu_quota = 0.1;
  tight.memory_mb = 64;
  tight.memory_swap_mb = -1;
  set(tight);
  CHECK(limits.cpu() == "10000 100000");
  CHECK(limits.memory() == bytes(64));
  if (limits.counts_swap()) CHECK(limits.swap() == "0");
  set(config.resource_limits);
  CHECK(limits.cpu() == "50000 100000");
  CHECK(limits.memory() == bytes(100));
  if (limits.counts_swap()) CHECK(limits.swap() == bytes(50));
}
