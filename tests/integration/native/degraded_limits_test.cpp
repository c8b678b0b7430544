// An ordinary user without a delegated cgroup: this program, run again as one.
#include "tests/support/in_sandbox.h"
#include "tests/support/other_caller.h"
#include "tests/support/temporary_directory.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;
constexpr const char* in_such_a_program = "HEARTH_TEST_WITHOUT_CGROUPS";

bool lacks_cgroups() { return std::getenv(in_such_a_program) != nullptr; }

int run_without_cgroups(const char* filter, const char* more = in_such_a_program) {
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  const fs::path program = copy_programs(directory.path());
  return run_tests_as(program, filter, [&] {
    return ::setenv(in_such_a_program, "1", 1) == 0 && ::setenv(more, "1", 1) == 0 &&
           become_user(nobody);
  });
}

std::shared_ptr<const native::NativeMachine> degraded_machine() {
  return native::open_native_machine({.limits = native::Limits::degraded});
}

// What it printed, in a sandbox with few megabytes and processes.
class Degraded {
 public:
  Degraded() : sandboxes_(degraded_machine(), small()) {}
  std::unique_ptr<backend::Sandbox> spawn() { return sandboxes_.spawn(); }
  execution::ExecutionResult run(const std::string& script) { return sandboxes_.run(script, 60); }
  // A step: what it has started is alive afterwards.
  std::string printed(backend::Sandbox& sandbox, const std::string& script) {
    execution::ScriptExecutor executor(sandbox);
    wire::RunRequest request;
    request.script = script;
    request.mode = wire::Mode::interactive;
    request.timeout_seconds = 60;
    return run_task(sandboxes_.loop(), executor.run(std::move(request))).stdout_text;
  }

 private:
  static blueprint::SandboxConfig small() {
    blueprint::SandboxConfig config;
    config.resource_limits.memory_mb = 64;
    config.resource_limits.pids_limit = 8;
    return config;
  }
  NativeSandboxes sandboxes_;
};

constexpr const char* start_many = R"(
import subprocess
started = []
try:
    for _ in range(20):
        started.append(subprocess.Popen(["sleep", "60"]))
except BlockingIOError:
    pass
print(len(started))
)";

}  // namespace

TEST_CASE("an ordinary user without cgroups gets degraded limits, and a pool stays strict") {
  if (::geteuid() != 0) return;  // there is no other user to become
  CHECK(run_without_cgroups("--source-file=*degraded_limits_test*") == 0);
}

TEST_CASE("degraded limits leave the isolation as it is") {
  if (::geteuid() != 0) return;
  CHECK(run_without_cgroups("--source-file=*identity_test*,*system_calls_test*",
                            "HEARTH_TEST_ALLOW_DEGRADED") == 0);
}

TEST_CASE("without cgroups a machine is refused unless degraded limits are accepted") {
  if (!lacks_cgroups()) return;
  try {
    native::open_native_machine({});
    FAIL("opened");
  } catch (const native::CannotSandbox& error) {
    const std::string words = error.what();
    CAPTURE(words);
    CHECK(words.find("no limits on memory, processes and CPU") != std::string::npos);
    CHECK(words.find("--allow-degraded") != std::string::npos);
  }
  const auto machine = degraded_machine();
  CHECK(machine->cgroups == nullptr);
  CHECK(machine->degraded.empty());  // no protection is missing
}

TEST_CASE("without cgroups a sandbox names the limits that are not kept for it as a whole") {
  if (!lacks_cgroups()) return;
  Degraded sandboxes;
  CHECK(sandboxes.spawn()->degraded() == std::vector<std::string>{"memory", "pids", "cpu"});
}

TEST_CASE("without cgroups each process has its memory limit, and more is a MemoryError") {
  if (!lacks_cgroups()) return;
  Degraded sandboxes;
  CHECK(execution::name_of(sandboxes.run("x = bytearray(60 << 20)").verdict) == "ok");
  const auto result = sandboxes.run("x = bytearray(300 << 20)");
  CHECK(execution::name_of(result.verdict) == "error");
  REQUIRE(result.error);
  CHECK(result.error->name == "MemoryError");
  const auto raised = sandboxes.run(
      "import resource\n"
      "resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)");
  REQUIRE(raised.error);
  CHECK(raised.error->name == "ValueError");
}

TEST_CASE("without cgroups the processes of a sandbox are limited, whatever its neighbours do") {
  if (!lacks_cgroups()) return;
  Degraded sandboxes;
  const auto full = sandboxes.spawn();
  const auto other = sandboxes.spawn();
  const std::string most = sandboxes.printed(*full, start_many);
  CHECK(most == "8\n");
  CHECK(sandboxes.printed(*other, start_many) == most);
}
