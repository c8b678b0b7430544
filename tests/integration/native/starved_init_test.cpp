// A sandbox ends when the host says so, even if its init gets no CPU time to die.
#include "async/within.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <sched.h>
#include <sys/resource.h>

#include <chrono>

using namespace hearth;
using namespace hearth::test;

namespace {

// What a script could do to init if no filter of system calls kept it from it.
void starve(pid_t init) {
  cpu_set_t one_cpu;
  CPU_ZERO(&one_cpu);
  CPU_SET(0, &one_cpu);
  REQUIRE(::sched_setaffinity(init, sizeof one_cpu, &one_cpu) == 0);
  REQUIRE(::setpriority(PRIO_PROCESS, static_cast<id_t>(init), 19) == 0);
  const sched_param none{};
  REQUIRE(::sched_setscheduler(init, SCHED_IDLE, &none) == 0);
}

const std::string busy_on_one_cpu = R"py(
import os
os.sched_setaffinity(0, {0})
for _ in range(58):
    if os.fork() == 0: break
while True: pass
)py";

// Far more than it takes, far less than a starved init takes.
constexpr std::chrono::seconds patience{10};

}  // namespace

TEST_CASE("a sandbox whose processes starve init of CPU time ends with its time limit") {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  starve(init_of(*sandbox));
  const auto result = sandboxes.run_in(*sandbox, busy_on_one_cpu, 1);
  CHECK(execution::name_of(result.verdict) == "timeout");
  // On Linux 6.1 init got its turn within the host's grace. Then this shows only that a kill works.
  if (result.sandbox_usable) sandbox->kill();
  CHECK_NOTHROW(run_task(sandboxes.loop(), within(patience, sandbox->exited())));
}
