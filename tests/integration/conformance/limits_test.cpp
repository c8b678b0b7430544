// What a sandbox may use, on every backend.
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

TEST_CASE_TEMPLATE(
    "C4: C6: C19: attacks on memory, processes, files and output end, and a neighbour goes on",
    Backend, ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.resource_limits.memory_mb = 128;
  config.resource_limits.memory_swap_mb = 0;
  config.resource_limits.pids_limit = 32;
  config.scratch_size_mb = 8;
  Backend backend(config);
  const std::unique_ptr<backend::Sandbox> neighbour = backend.spawn();
  const auto attack = [&](const std::string& script, double seconds = 10) {
    auto result = backend.run(script, seconds);
    CHECK(backend.run_in(*neighbour, "print('well')").stdout_text == "well\n");
    return result;
  };
  CHECK(attack("x = []\nwhile True: x.append(bytearray(1 << 20))").verdict ==
        Verdict::memory_limit);
  const auto forks = attack(R"(
import os
made = 0
try:
    while os.fork() != 0: made += 1
    import time; time.sleep(60)
except BlockingIOError:
    print(20 < made <= 36)
    os._exit(0)
)");
  CHECK(forks.stdout_text == "True\n");
  CHECK(attack(R"(
import errno
try:
    with open("big", "wb") as f:
        while True: f.write(b"x" * (1 << 20))
except OSError as error:
    print(errno.errorcode[error.errno])
)")
            .stdout_text == "ENOSPC\n");
  CHECK(attack(R"(
import errno
try:
    for i in range(100_000): open(f"f{i}", "w").close()
except OSError as error:
    print(errno.errorcode[error.errno])
)",
               20)
            .stdout_text == "ENOSPC\n");
  CHECK(attack(R"(
import errno, os
try:
    while True: os.dup(1)
except OSError as error:
    print(errno.errorcode[error.errno])
)")
            .stdout_text == "EMFILE\n");
  CHECK(attack("while True: pass", 0.5).verdict == Verdict::timeout);
  CHECK(attack("import os\nwhile True: os.write(1, b'x' * 65536)").verdict ==
        Verdict::output_limit);
}

TEST_CASE_TEMPLATE("a file has at most the size of the memory or of the workspace, or a gibibyte",
                   Backend, ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  const std::string script = R"(
import errno, os, resource
most = resource.getrlimit(resource.RLIMIT_FSIZE)
print(*[size >> 20 for size in most])
file = open("sparse", "wb")
os.ftruncate(file.fileno(), most[0])
for grow in (lambda: os.ftruncate(file.fileno(), 1 << 42), lambda: os.pwrite(file.fileno(), b"x", 1 << 42)):
    try: grow()
    except OSError as error: print(errno.errorcode[error.errno])
)";
  config.resource_limits.memory_mb = 256;
  CHECK(Backend(config).run(script).stdout_text == "1024 1024\nEFBIG\nEFBIG\n");
  config.resource_limits.memory_mb = 1500;
  CHECK(Backend(config).run(script).stdout_text == "1500 1500\nEFBIG\nEFBIG\n");
  config.scratch_size_mb = 1600;
  CHECK(Backend(config).run(script).stdout_text == "1600 1600\nEFBIG\nEFBIG\n");
}

TEST_CASE_TEMPLATE("limits can be tightened and widened again while it lives", Backend,
                   ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.resource_limits.memory_mb = 256;
  config.resource_limits.memory_swap_mb = 0;
  Backend backend(config);
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const std::string greedy = "x = bytearray(120 << 20)\nprint('had it')";
  blueprint::ResourceLimits tight = config.resource_limits;
  tight.memory_mb = 64;
  run_task(backend.loop(), sandbox->set_limits(tight));
  CHECK(backend.run_in(*sandbox, greedy).verdict == Verdict::memory_limit);
  run_task(backend.loop(), sandbox->set_limits(config.resource_limits));
  CHECK(backend.run_in(*sandbox, greedy).verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("what memory it uses can be asked", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const backend::SandboxUsage before = run_task(backend.loop(), sandbox->usage());
  backend.run_in(*sandbox, "open('/workspace/x', 'w').write('x' * (20 << 20))");
  const backend::SandboxUsage after = run_task(backend.loop(), sandbox->usage());
  CHECK(after.memory_bytes > before.memory_bytes + (15 << 20));
}

TEST_CASE_TEMPLATE("a healthy sandbox passes its probe, and a dead one does not", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  CHECK_NOTHROW(run_task(backend.loop(), sandbox->probe()));
  sandbox->kill();
  run_task(backend.loop(), sandbox->exited());
  CHECK_THROWS(run_task(backend.loop(), sandbox->probe()));
}
