// Page cache of the host's files that a sandbox was the first to read is charged to its cgroup,
// and the kernel keeps a removed cgroup for it.
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/uncached_file.h"

#include <chrono>

using namespace hearth;
using namespace hearth::test;

namespace {

std::string group_of(const backend::Sandbox& sandbox) {
  return dynamic_cast<const native::NativeSandbox&>(sandbox).cgroup()->directories().front();
}

}  // namespace

TEST_CASE("the cgroup of a sandbox that read many of the host's files goes to another sandbox") {
  const UncachedFile file(8 << 20);
  if (!file.is_uncached()) {
    MESSAGE("not tested: needs a file system with a page cache that can be dropped");
    return;
  }
  native::ZygoteContent environment = plain_environment();
  environment.mounts = {{file.path().parent_path(), "/data", true}};
  NativeSandboxes sandboxes({}, environment);
  std::string group;
  {
    const auto reader = sandboxes.spawn();
    group = group_of(*reader);
    printed(sandboxes, *reader, "import glob\nfor f in glob.glob('/data/*'): open(f, 'rb').read()");
    CHECK(run_task(sandboxes.loop(), reader->usage()).memory_bytes > file.size());
  }
  std::unique_ptr<backend::Sandbox> next;
  for (int i = 0; i < 50 && (!next || group_of(*next) != group); ++i) {
    next.reset();
    sandboxes.loop().restart();
    sandboxes.loop().run_for(std::chrono::milliseconds(50));  // it has to be buried, and to rest
    next = sandboxes.spawn();
  }
  CHECK(group_of(*next) == group);
}
