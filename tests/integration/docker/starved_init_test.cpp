// A container ends when the host says so, even if its init gets no CPU time to die.
#include "async/within.h"
#include "docker/docker_sandbox.h"
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>
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

boost::json::value inspect(const std::string& id) {
  return call_engine({.path = "/containers/" + id + "/json", .accepted = {404}}).body;
}

}  // namespace

TEST_CASE("a container whose processes starve init of CPU time ends with its time limit") {
  std::string id;
  DockerBackend backend;
  {
    const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
    id = dynamic_cast<docker::DockerSandbox&>(*sandbox).container_id();
    starve(inspect(id).at("State").at("Pid").to_number<pid_t>());
    const auto result = backend.run_in(*sandbox, busy_on_one_cpu, 1);
    CHECK(execution::name_of(result.verdict) == "timeout");
    CHECK_FALSE(result.sandbox_usable);
    // Less than the time after which it is no longer waited for.
    CHECK_NOTHROW(run_task(backend.loop(), within(std::chrono::seconds(9), sandbox->exited())));
  }
  const boost::json::value left = inspect(id);
  CHECK((!left.as_object().contains("State") || !left.at("State").at("Running").as_bool()));
}
