// Files from the host in a native sandbox, where init is bound by the same filter, rules and limits
// as the script.
#include "channel/sandbox_files.h"
#include "tests/support/in_sandbox.h"

using namespace hearth;
using namespace hearth::test;
using namespace std::chrono_literals;

namespace {

void put(NativeSandboxes& sandboxes, backend::Sandbox& sandbox, const std::string& path,
         const std::string& content, unsigned mode = 0644) {
  run_task(sandboxes.loop(), SandboxFiles(sandbox.channel()).write(path, content, mode));
}

}  // namespace

TEST_CASE("a file from the host belongs to the sandbox's user, which may change it") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  put(sandboxes, *sandbox, "a/b/data", std::string(1'000'000, 'd'));
  put(sandboxes, *sandbox, "read_only", std::string(1'000'000, 'r'), 0444);
  put(sandboxes, *sandbox, "read_only", "replaced", 0400);
  CHECK(printed(sandboxes, *sandbox, R"py(
import os
def owner(path): return (os.stat(path).st_uid, os.stat(path).st_gid) == (os.getuid(), os.getgid())
print(owner('a'), owner('a/b'), owner('a/b/data'), oct(os.stat('a/b').st_mode))
print(open('a/b/data').read() == 'd' * 1_000_000, open('read_only').read())
open('a/b/data', 'a').write('more')
os.chmod('read_only', 0o600)
os.rename('a/b/data', 'moved')
print(os.path.getsize('moved'), oct(os.stat('read_only').st_mode))
)py") == "True True True 0o40755\nTrue replaced\n1000004 0o100600\n");
  run_task(sandboxes.loop(), sandbox->channel().ping(60s));
}

TEST_CASE("a file larger than a sandbox's workspace is refused and the sandbox goes on") {
  blueprint::SandboxConfig config;
  config.scratch_size_mb = 2;
  NativeSandboxes sandboxes(config);
  const auto sandbox = sandboxes.spawn();
  CHECK_THROWS_WITH_AS(put(sandboxes, *sandbox, "big", std::string(3 << 20, 'x')),
                       "cannot write big: No space left on device", Error);
  put(sandboxes, *sandbox, "small", std::string(1 << 20, 'x'));
  CHECK(printed(sandboxes, *sandbox, "import os\nprint(os.listdir(), os.path.getsize('small'))") ==
        "['small'] 1048576\n");
}

TEST_CASE("a link that a script left in its workspace leads the host's files nowhere") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  printed(sandboxes, *sandbox,
          "import os\nos.symlink('/tmp', 'directory')\nos.symlink('/tmp/new', 'file')");
  CHECK_THROWS_WITH_AS(put(sandboxes, *sandbox, "directory/new", "x"),
                       "cannot write directory/new: directory: it is a symbolic link", Error);
  CHECK_THROWS_WITH_AS(put(sandboxes, *sandbox, "file", "x"),
                       "cannot write file: it is a symbolic link", Error);
  CHECK(printed(sandboxes, *sandbox, "import os\nprint(os.listdir('/tmp'))") == "[]\n");
}
