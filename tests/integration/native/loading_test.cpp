// What tools and preloaded modules can do while they load, and what they may not leave behind.
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/with_tool.h"

#include <string>

using namespace hearth;
using namespace hearth::test;

namespace {

std::string failure_of_loading(NativeSandboxes& sandboxes) {
  try {
    sandboxes.spawn();
  } catch (const backend::SpawnError& error) {
    return error.what();
  }
  FAIL("it did not fail");
  return {};
}

std::string failure_of_loading(const std::string& tool) {
  const WithTool with(tool);
  NativeSandboxes sandboxes({}, with.environment);
  return failure_of_loading(sandboxes);
}

std::string groups_of(pid_t pid) {
  return os::read_file("/proc/" + std::to_string(pid) + "/cgroup", std::size_t{1} << 20);
}

}  // namespace

TEST_CASE("tools load under a seccomp filter and with the capabilities that a zygote needs") {
  const WithTool with(R"py(
status = dict(line.rstrip('\n').split(':\t', 1) for line in open('/proc/self/status') if ':\t' in line)
)py");
  NativeSandboxes sandboxes({}, with.environment);
  // KILL, SETGID, SETUID, SETPCAP, NET_ADMIN, SYS_CHROOT, SYS_PTRACE, SYS_ADMIN, SETFCAP
  CHECK(printed(sandboxes, R"py(
for key in ('Seccomp', 'Seccomp_filters', 'NoNewPrivs', 'CapEff', 'CapPrm', 'CapBnd'):
    print(key, status[key])
)py") == "Seccomp 2\nSeccomp_filters 1\nNoNewPrivs 1\nCapEff 00000000802c11e0\n"
         "CapPrm 00000000802c11e0\nCapBnd 00000000802c11e0\n");
}

#ifdef __x86_64__
TEST_CASE("a tool that loads cannot use the kernel's interfaces that no sandbox needs") {
  const WithTool with(R"py(
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def works(number, *arguments):
    ctypes.set_errno(0)
    # What is not there or not allowed; other errors mean that the call looked at its arguments.
    return libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0 or ctypes.get_errno() not in (1, 38)
calls = dict(
    io_uring_setup=425, bpf=321, perf_event_open=298, ptrace=101, userfaultfd=323, add_key=248, keyctl=250,
    open_by_handle_at=304, init_module=175, kexec_load=246, process_vm_writev=311, pidfd_getfd=438, fsopen=430,
    open_tree=428, mount_setattr=442, pivot_root=155, chroot=161, fanotify_init=300, clone3=435)
found = [name for name, number in calls.items() if works(number, 0, 0, 0, 0, 0)]
NEWUSER = 0x10000000
found += [name for name, number in (('unshare', 272), ('clone', 56)) if works(number, NEWUSER | 17, 0, 0, 0, 0)]
for family, kind, protocol in ((17, 3, 0), (16, 3, 12), (38, 5, 0), (40, 1, 0), (44, 3, 0), (2, 3, 255)):
    try:
        socket.socket(family, kind, protocol)
    except OSError as error:
        if error.errno in (1, 38):
            continue
    found.append((family, kind, protocol))
)py");
  NativeSandboxes sandboxes({}, with.environment);
  CHECK(printed(sandboxes, "print(found)") == "[]\n");
}
#endif

TEST_CASE("what is written while loading is bounded, and no sandbox sees it") {
  const WithTool bounded(R"py(
import errno, os
found = []
for place in (os.environ["TMPDIR"], os.environ["HOME"]):
    try:
        with open(os.path.join(place, "filler"), "wb") as file:
            for _ in range(256):
                file.write(bytes(1 << 20))
    except OSError as error:
        found.append(errno.errorcode[error.errno])
)py");
  NativeSandboxes sandboxes({}, bounded.environment);
  CHECK(printed(sandboxes,
                "import os; print(found, "
                "os.listdir('/tmp'))") == "['ENOSPC', 'ENOSPC'] []\n");
}

TEST_CASE("a zygote lives in a cgroup of its own, beside those of its sandboxes") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const std::string zygote = groups_of(zygote_of(*sandbox));
  CHECK(zygote != groups_of(::getpid()));
  CHECK(zygote != groups_of(init_of(*sandbox)));
  CHECK(zygote == groups_of(parent_of(zygote_of(*sandbox))));
}

TEST_CASE("a tool that needs more memory than loading has is told the limit and its key") {
  const std::string failure = failure_of_loading("kept = b'x' * (600 << 20)\n");
  CHECK(
      failure.starts_with("tool tool.py: loading needs more than 512 MB of memory "
                          "(resource_limits.memory_mb, while loading at least 512)"));
}

TEST_CASE("a tool that needs more threads than loading has is told the limit and its key") {
  const std::string failure = failure_of_loading(R"py(
import threading, time
for _ in range(600):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
)py");
  CHECK(
      failure.starts_with("tool tool.py: loading needs more than 512 processes and threads "
                          "(resource_limits.pids_limit, while loading at least 512)"));
}

TEST_CASE("a tool that does not come to an end while it loads is given up, by name") {
  const WithTool with("import time\nwhile True:\n    time.sleep(60)\n");
  native::NativeMachineOptions options;
  options.load_limit = std::chrono::seconds(8);  // a busy machine starts Python in less
  asio::io_context loop(1);
  native::NativeSource source(loop.get_executor(), native::open_native_machine(options), {},
                              with.environment);
  CHECK_THROWS_WITH_AS(run_task(loop, source.spawn()),
                       "tool tool.py: the environment was not loaded within 8 s",
                       backend::ReadyTimeout);
  run_task(loop, source.close());
}

TEST_CASE("a tool that leaves shared writable memory is refused by name") {
  const std::string failure =
      failure_of_loading("import mmap\nnotes = mmap.mmap(-1, 4096)\ndef tool(): return notes\n");
  CHECK(failure.starts_with("tool tool.py: RuntimeError: shared writable memory is left ("));
}

TEST_CASE("a preloaded module that leaves shared writable memory is refused by name") {
  const TemporaryDirectory packages;
  packages.write("sharing.py",
                 "import ctypes\n"
                 "libc = ctypes.CDLL(None, use_errno=True)\n"
                 "libc.shmat.restype = ctypes.c_void_p\n"
                 "notes = libc.shmat(libc.shmget(0, 4096, 0o1600), None, 0)\n");
  native::ZygoteContent environment = plain_environment();
  environment.packages = packages.path();
  environment.preload = {"json", "sharing"};
  NativeSandboxes sandboxes({}, environment);
  CHECK(failure_of_loading(sandboxes).starts_with(
      "preload sharing: RuntimeError: shared writable memory is left ("));
}

TEST_CASE("no descriptor that a tool left open is a script's") {
  const WithTool with(R"py(
import os, select, socket
memory = os.memfd_create('kept')
kept = [socket.socketpair(), select.epoll(), open('/etc/passwd'), os.pipe()]
if hasattr(os, 'eventfd'):
    kept.append(os.eventfd(1))
)py");
  NativeSandboxes sandboxes({}, with.environment);
  const std::string open_ones = R"py(
import os
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
print([fd for fd in range(5, 1024) if is_open(fd)])
)py";
  const auto sandbox = sandboxes.spawn();
  CHECK(printed(sandboxes, *sandbox, open_ones) == "[]\n");
  // And of a worker that came later.
  CHECK(printed(sandboxes, *sandbox, open_ones) == "[]\n");
}
