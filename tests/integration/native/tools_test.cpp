// Tools that do more in the zygote than to define functions: no sandbox suffers from it.
#include "execution/turn.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/with_tool.h"

#include <filesystem>
#include <set>
#include <string>

using namespace hearth;
using namespace hearth::test;

namespace {

// In the order in which the script printed it, if all is well. At once: a worker that has rehearsed
// starts anew.
std::string all_output_of(NativeSandboxes& sandboxes, const std::string& script) {
  const auto sandbox = sandboxes.spawn();
  execution::ScriptExecutor executor(*sandbox);
  wire::RunRequest request;
  request.script = script;
  request.timeout_seconds = 20;
  std::string all;
  run_task(sandboxes.loop(), executor.run(request, [&](const wire::Event& event) {
    if (const auto* out = std::get_if<wire::Stdout>(&event.body)) all += out->text;
    if (const auto* err = std::get_if<wire::Stderr>(&event.body)) all += err->text;
    if (const auto* log = std::get_if<wire::Log>(&event.body)) all += "LOG " + log->message;
  }));
  return all;
}

const std::string alternate = R"py(
import sys
for n in range(4):
    print('o%d' % n, end=' ', flush=True)
    print('e%d' % n, end=' ', file=sys.stderr, flush=True)
)py";
const std::string alternated = "o0 e0 o1 e1 o2 e2 o3 e3 ";

}  // namespace

TEST_CASE("what a tool says after each fork is not the script's, and does not confuse its output") {
  for (const char* const handler : {"print('forked')", "emit_log('forked')", "1 / 0"}) {
    CAPTURE(handler);
    const WithTool with(std::string("import os\nos.register_at_fork(after_in_child=lambda: ") +
                        handler + ")\n");
    NativeSandboxes sandboxes({}, with.environment);
    CHECK(all_output_of(sandboxes, alternate) == alternated);
  }
}

TEST_CASE("a file that a tool opened while it loaded stays what it is in the zygote") {
  const WithTool with("kept = [open('/etc/passwd') for _ in range(6)]\n");
  NativeSandboxes sandboxes({}, with.environment);
  const auto sandbox = sandboxes.spawn();
  std::size_t found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(zygote_of(*sandbox)) + "/fd"))
    if (std::filesystem::read_symlink(entry).filename() == "passwd") ++found;
  CHECK(found == 6);
}

TEST_CASE("a zygote with threads has no twins: what one of them holds they would never get") {
  const WithTool with(
      "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True)"
      ".start()\n");
  NativeSandboxes sandboxes({}, with.environment);
  std::set<pid_t> zygotes;
  for (const auto& one : sandboxes.spawn_at_once(6)) {
    zygotes.insert(zygote_of(*one));
    CHECK(printed(sandboxes, *one, "print('on')") == "on\n");
  }
  CHECK(zygotes.size() == 1);
}

TEST_CASE("a script finds its globals among all objects") {
  CHECK(printed("import gc\nprint(any(one is globals() for one in gc.get_objects()))") == "True\n");
}
