// Every Python that this machine has and that a blueprint may name.
#include "builder/find_python.h"
#include "tests/support/in_sandbox.h"

#include <memory>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

std::vector<builder::Python> pythons_of_this_machine() {
  std::vector<builder::Python> found;
  constexpr int oldest = 8;
  constexpr int newest = 14;
  for (int minor = oldest; minor <= newest; ++minor) {
    try {
      found.push_back(
          builder::find_python("3." + std::to_string(minor), builder::usual_python_directories()));
    } catch (const builder::PythonNotFound&) {
      continue;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a sandbox and its later workers run with every Python there is") {
  const std::vector<builder::Python> pythons = pythons_of_this_machine();
  REQUIRE_FALSE(pythons.empty());
  for (const builder::Python& python : pythons) {
    CAPTURE(python.executable);
    native::ZygoteContent environment = plain_environment();
    environment.python = python.executable;
    NativeSandboxes sandboxes({}, environment);
    const std::unique_ptr<backend::Sandbox> sandbox = sandboxes.spawn();
    for (int turn = 0; turn < 3; ++turn)
      CHECK(printed(sandboxes, *sandbox, R"py(
import importlib, os, sys, threading
thread = threading.Thread(target=importlib.import_module, args=('csv',))
thread.start()
thread.join()
child = os.fork()
if child == 0: os._exit(threading.active_count())
print('%d.%d.%d' % sys.version_info[:3], os.waitpid(child, 0)[1] >> 8)
)py") == python.version + " 1\n");
  }
}
