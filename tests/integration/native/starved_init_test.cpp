// A sandbox ends when the host says so, even if its init gets no CPU time: neither to keep a time
// limit nor to exit.
#include "async/within.h"
#include "tests/support/held_process.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>

using namespace hearth;
using namespace hearth::test;

namespace {

std::size_t live_processes_of(const backend::Sandbox& sandbox) {
  const std::vector<pid_t> all = processes_of(sandbox);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_alive));
}

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
print('started', flush=True)
os.sched_setaffinity(0, {0})
for _ in range(58):
    if os.fork() == 0: break
while True: pass
)py";

// Far more than it takes, far less than a starved init takes.
constexpr std::chrono::seconds patience{10};

}  // namespace

TEST_CASE("a sandbox whose init gets no CPU time ends with its time limit") {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  std::optional<HeldProcess> init;
  execution::ScriptExecutor executor(*sandbox);
  wire::RunRequest request;
  request.script = busy_on_one_cpu;
  request.timeout_seconds = 1;
  const auto result = run_task(sandboxes.loop(), executor.run(request, [&](const wire::Event&) {
    if (!init) init.emplace(init_of(*sandbox));
  }));
  CHECK(execution::name_of(result.verdict) == "timeout");
  CHECK_FALSE(result.sandbox_usable);

  // The host kills its processes one by one, as init does not take them with it.
  constexpr std::chrono::milliseconds a_moment(10);
  while (live_processes_of(*sandbox) > 1) sandboxes.loop().run_one_for(a_moment);
  CHECK(init->was_killed());
  bool has_exited = false;
  asio::co_spawn(sandboxes.loop(), sandbox->exited(),
                 [&](const std::exception_ptr&) { has_exited = true; });
  sandboxes.loop().poll();
  CHECK_FALSE(has_exited);
  init->let_go();
  while (!has_exited) sandboxes.loop().run_one();
}

TEST_CASE("a sandbox whose processes leave init little CPU time ends when it is killed") {
  NativeSandboxes sandboxes;
  const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
  starve(init_of(*sandbox));
  const auto result = sandboxes.run_in(*sandbox, busy_on_one_cpu, 1);
  CHECK(execution::name_of(result.verdict) == "timeout");
  sandbox->kill();
  CHECK_NOTHROW(run_task(sandboxes.loop(), within(patience, sandbox->exited())));
}
