#include "init/command_process.h"

#include "init/command_plan.h"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <vector>

using namespace hearth;
using namespace hearth::init;

TEST_CASE(
    "the reports of a runner that has exited are not waited for: they would always be ready") {
  CommandPlan plan;
  plan.argv = {"/bin/true"};
  plan.directory = "/";
  CommandProcess process(plan, {.execution_id = "e"}, -1);
  const pid_t runner = process.runner();
  siginfo_t exited{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(runner), &exited, WEXITED | WNOWAIT) == 0);

  std::vector<RunnerReport::Kind> kinds;
  while (const auto report = process.next_report()) kinds.push_back(report->kind);
  CHECK(kinds == std::vector{RunnerReport::Kind::started, RunnerReport::Kind::exited});
  CHECK(process.runner() == runner);  // not reaped yet
  CHECK(process.report_fd() == -1);

  CHECK(::waitpid(runner, nullptr, 0) == runner);
}
