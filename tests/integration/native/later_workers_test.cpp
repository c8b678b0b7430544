// Workers after a sandbox's first are forked into it from outside. They must not differ.
#include "execution/turn.h"
#include "native/machine_facts.h"
#include "native/posture.h"
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <sys/resource.h>

#include <chrono>

using namespace hearth;
using namespace hearth::test;

namespace {

execution::ExecutionResult step(NativeSandboxes& sandboxes, backend::Sandbox& sandbox,
                                const std::string& script) {
  execution::ScriptExecutor executor(sandbox);
  wire::RunRequest request;
  request.mode = wire::Mode::interactive;
  request.script = script;
  request.timeout_seconds = 60;
  return run_task(sandboxes.loop(), executor.run(std::move(request)));
}

// All that a process can find out about itself and that does not change from one to the next.
const std::string about_itself = R"py(
import ctypes, os, resource, stat
changing = ('Pid:', 'Tgid:', 'Ngid:', 'NSpid:', 'NStgid:', 'NSpgid:', 'NSsid:', 'Vm', 'Rss', 'Hugetlb', 'voluntary',
            'nonvoluntary', 'SigQ:', 'FDSize:', 'Cpus_allowed', 'Mems_allowed', 'State:', 'TracerPid:')
for line in open('/proc/self/status'):
    if not line.startswith(changing): print(line.rstrip())
for name in sorted(os.listdir('/proc/self/ns')): print(os.readlink('/proc/self/ns/' + name))
for name in ('cgroup', 'mountinfo', 'limits', 'oom_score_adj', 'uid_map', 'gid_map', 'setgroups'):
    print(open('/proc/self/' + name).read())
print(os.getresuid(), os.getresgid(), os.getgroups(), os.getppid(), os.getsid(0) == os.getpid(), os.getcwd())
for name in sorted(os.environ): print(name, os.environ[name])
for fd in range(2048):
    try: info = os.fstat(fd)
    except OSError: continue
    print(fd, stat.S_IFMT(info.st_mode), os.get_inheritable(fd))
libc = ctypes.CDLL(None, use_errno=True)
PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_GET_NO_NEW_PRIVS = 3, 23, 27, 39
for number in (PR_GET_DUMPABLE, PR_GET_SECUREBITS, PR_GET_NO_NEW_PRIVS): print(libc.prctl(number, 0, 0, 0, 0))
print([libc.prctl(PR_CAPBSET_READ, one, 0, 0, 0) for one in range(41)])
print(os.umask(0o22), os.nice(0), os.sched_getscheduler(0), os.uname().nodename)
handled, layers = ctypes.c_uint64(1 << 11), 0
while True:
    ruleset = libc.syscall(444, ctypes.byref(handled), 8, 0)
    if ruleset < 0 or libc.syscall(446, ruleset, 0) != 0: break
    os.close(ruleset)
    layers += 1
print(layers)
)py";

// A leftover of a step that stops and kills all it can see, as often as it can.
const std::string leave_a_killer = R"py(
import os, signal
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True:
        for pid in range(2, 200):
            for number in (signal.SIGSTOP, signal.SIGKILL):
                try:
                    if pid != os.getpid() and pid not in SPARED: os.kill(pid, number)
                except OSError: pass
)py";

}  // namespace

TEST_CASE("a later worker is what the first one was") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const std::string first = printed(sandboxes, *sandbox, about_itself);
  CHECK(first.size() > 2000);
  for (int turn = 0; turn < 3; ++turn) CHECK(printed(sandboxes, *sandbox, about_itself) == first);
}

TEST_CASE("a later worker has what was loaded, and nothing of the turns before") {
  native::ZygoteContent environment = plain_environment();
  environment.preload = {"decimal"};
  NativeSandboxes sandboxes({}, environment);
  const auto sandbox = sandboxes.spawn();
  const std::string script =
      "import sys\nprint('decimal' in sys.modules, hasattr(sys, 'left'), "
      "len(__import__('os').listdir('/workspace')))\n"
      "sys.left = 1\n";
  for (int turn = 0; turn < 3; ++turn)
    CHECK(printed(sandboxes, *sandbox, script) == "True False 0\n");
}

TEST_CASE("a leftover of a step can neither stop nor kill the next worker") {
  if (native::gather_machine_facts().landlock_version < 6) return;  // before, nothing forbids it
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  REQUIRE(
      step(sandboxes, *sandbox, "import os\nSPARED = (os.getpid(),)\n" + leave_a_killer).verdict ==
      execution::Verdict::ok);
  for (int turn = 0; turn < 5; ++turn)
    CHECK(printed(sandboxes, *sandbox, "print(sum(range(1000)))") == "499500\n");
  // The zygote was not held up by it.
  CHECK(printed(sandboxes, "print(1)") == "1\n");
}

TEST_CASE("a sandbox that ends while it gets a worker takes no other with it") {
  NativeSandboxes sandboxes;
  const auto neighbour = sandboxes.spawn();
  for (int round = 0; round < 60; ++round) {
    auto sandbox = sandboxes.spawn();
    // A step that ends its process: the next asks for a worker at once.
    CHECK(step(sandboxes, *sandbox, "import os\nos._exit(0)").verdict ==
          execution::Verdict::exited);
    execution::ScriptExecutor executor(*sandbox);
    wire::RunRequest request;
    request.script = "print(1)";
    request.timeout_seconds = 60;
    std::optional<execution::ExecutionResult> result;
    asio::co_spawn(
        sandboxes.loop(), [&]() -> Task<> { result = co_await executor.run(std::move(request)); },
        asio::detached);
    sandboxes.loop().restart();
    sandboxes.loop().run_for(std::chrono::microseconds(100 * round));
    const auto& native = dynamic_cast<const native::NativeSandbox&>(*sandbox);
    round % 2 == 0 ? sandbox->kill() : native::kill_process(native.pidfd());
    while (!result) sandboxes.loop().run_one_for(std::chrono::seconds(1));
    CHECK(
        (result->verdict == execution::Verdict::lost || result->verdict == execution::Verdict::ok));
  }
  CHECK(printed(sandboxes, *neighbour, "print(1)") == "1\n");
  CHECK(printed(sandboxes, *neighbour, "print(2)") == "2\n");
}

TEST_CASE("a worker that cannot be forked is told, with the reason") {
  blueprint::SandboxConfig config;
  config.resource_limits.pids_limit = 5;
  NativeSandboxes sandboxes(config);
  const auto sandbox = sandboxes.spawn();
  // They stay, as the step's own process does.
  REQUIRE(step(sandboxes, *sandbox, R"py(
import os, time
try:
    while True:
        if os.fork() == 0: time.sleep(1000)
except OSError: pass
)py")
              .verdict == execution::Verdict::ok);
  const auto result = sandboxes.run_in(*sandbox, "print(1)");
  CHECK(result.verdict == execution::Verdict::lost);
  CHECK(result.detail.find("Resource temporarily unavailable") != std::string::npos);
  CHECK(printed(sandboxes, "print(1)") == "1\n");
}

// The kernel counts them for each user, and without root all are one.
TEST_CASE("as many descriptors as a script can send hold up no other sandbox's workers") {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;  // as a host does that makes sandboxes
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  NativeSandboxes sandboxes;
  const auto greedy = sandboxes.spawn();
  const auto result = step(sandboxes, *greedy, R"py(
import array, errno, os, socket
pairs, count = [], 0
file = os.open('/dev/null', os.O_RDONLY)
batch = array.array('i', [file] * 200)
try:
    while True:
        pairs.append(socket.socketpair())
        for _ in range(5):
            pairs[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, batch)])
            count += len(batch)
except OSError as error: print(errno.errorcode[error.errno], count >= 1000)
)py");
  CHECK(result.stdout_text == "ETOOMANYREFS True\n");
  const auto other = sandboxes.spawn();
  for (int turn = 0; turn < 3; ++turn) CHECK(printed(sandboxes, *other, "print(1)") == "1\n");
}

TEST_CASE("a process that does not belong into a sandbox is not let in") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const native::Differences found =
      native::differences_of_newcomer(::getpid(), init_of(*sandbox), {});
  CHECK(std::find(found.begin(), found.end(),
                  "process " + std::to_string(::getpid()) +
                      ": it is in other namespaces than init") != found.end());
}
