// A sandbox's cgroup may have been another's; what that one did is not held against it.
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <chrono>
#include <thread>

using namespace hearth;
using namespace hearth::test;

namespace {

std::string group_of(const backend::Sandbox& sandbox) {
  return dynamic_cast<const native::NativeSandbox&>(sandbox).cgroup()->directories().front();
}

}  // namespace

TEST_CASE("that memory ran out in a group before does not count for the next sandbox in it") {
  NativeSandboxes sandboxes;
  std::string group;
  {
    const auto greedy = sandboxes.spawn();
    group = group_of(*greedy);
    const auto result = sandboxes.run_in(*greedy, "x = bytearray(1 << 40 >> 10)");
    CHECK(result.verdict == execution::Verdict::memory_limit);
    REQUIRE(greedy->memory_limit_hit());
    CHECK(test::run_task(sandboxes.loop(), greedy->usage()).memory_bytes > 0);
    greedy->kill();
    run_task(sandboxes.loop(), greedy->exited());
  }
  std::unique_ptr<backend::Sandbox> next;
  for (int i = 0; i < 50 && (!next || group_of(*next) != group); ++i) {
    sandboxes.loop().restart();
    sandboxes.loop().run_for(std::chrono::milliseconds(50));  // it has to be buried, and to rest
    next = sandboxes.spawn();
  }
  REQUIRE(group_of(*next) == group);
  CHECK_FALSE(next->memory_limit_hit());
  const auto result = sandboxes.run_in(*next, "print(1)");
  CHECK(result.verdict == execution::Verdict::ok);
}
