// What a script finds around it, on every backend, seen from inside.
#include "os/read_file.h"
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace hearth;
using namespace hearth::test;

TEST_CASE_TEMPLATE("H24: P21: the root is read-only, P22: no capabilities, P23: no way to gain any",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import errno, os
def tried(what):
    try:
        what()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
print(sorted({status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}))
print(status["NoNewPrivs"], status["Seccomp"], os.getuid() != 0, os.getgid() != 0)
print(tried(lambda: open("/new", "w")), tried(lambda: open("/usr/new", "w")),
      tried(lambda: os.mkdir("/etc/new")), tried(lambda: open("/tools/new", "w")),
      tried(lambda: open("/hearth/new", "w")))
print("done" in (tried(lambda: os.setuid(0)), tried(lambda: os.setgid(0)), tried(lambda: os.chroot("/tmp"))))
)");
  INFO(result.stderr_text);
  CHECK(result.stdout_text ==
        "['0000000000000000']\n"
        "1 2 True True\n"
        "EROFS EROFS EROFS EROFS EROFS\n"
        "False\n");
}

TEST_CASE_TEMPLATE("C14: there is no network but its own loopback", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import errno, os, socket
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line))
def reach(family, kind, address):
    s = socket.socket(family, kind)
    try:
        s.connect(address)
        return "reached"
    except OSError as error:
        return errno.errorcode[error.errno]
print(reach(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)))
print(reach(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)))
for kind in (socket.SOCK_RAW, socket.SOCK_SEQPACKET):
    try: socket.socket(socket.AF_INET, kind, 1); print("raw")
    except OSError: print("refused")
)");
  CHECK(result.stdout_text == "['lo']\nENETUNREACH\nENETUNREACH\nrefused\nrefused\n");
}

TEST_CASE_TEMPLATE("connections that no process has open end soon, as the machine counts them",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import os, select, socket, time
def orphans():
    for line in open("/proc/net/sockstat"):
        if line.startswith("TCP:"): return int(line.split()[4])
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(4096)
left = 0
while left < 10:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    one.connect(listener.getsockname())
    one.setblocking(False)
    while select.select([], [one], [], 0.1)[1]:
        try: one.send(bytes(4000))
        except BlockingIOError: pass
    one.close()
    left += 1
print(orphans() > 0)
# An older kernel tries for minutes while the other end answers: there only their number is bounded.
while os.path.exists("/proc/sys/net/ipv4/tcp_rto_max_ms") and orphans() > 0: time.sleep(0.05)
waiting = 0
try:
    while waiting < 1000:
        one = socket.socket()
        one.settimeout(0.2)
        one.connect(listener.getsockname())
        waiting += 1
except OSError: pass
print(waiting < 200)
)");
  CHECK(result.stdout_text == "True\nTrue\n");
}

TEST_CASE_TEMPLATE("dangerous system calls are refused or do not exist", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
numbers = {"ptrace": 101, "mount": 165, "unshare": 272, "setns": 308, "bpf": 321,
           "userfaultfd": 323, "perf_event_open": 298, "keyctl": 250, "process_vm_readv": 310,
           "io_uring_setup": 425, "clone3": 435, "modify_ldt": 154}
for name, number in sorted(numbers.items()):
    code = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    print(name, code, errno.errorcode[ctypes.get_errno()])
import socket
for family in (socket.AF_VSOCK, 16, socket.AF_PACKET, socket.AF_ALG):
    try: socket.socket(family, socket.SOCK_RAW if family != 16 else socket.SOCK_DGRAM, 9 if family == 16 else 0); print("made")
    except OSError: print("refused")
import threading
t = threading.Thread(target=lambda: print("a thread")); t.start(); t.join()
)");
  CHECK(result.stdout_text ==
        "bpf -1 EPERM\nclone3 -1 ENOSYS\nio_uring_setup -1 ENOSYS\nkeyctl -1 EPERM\n"
        "modify_ldt -1 EPERM\nmount -1 EPERM\nperf_event_open -1 EPERM\n"
        "process_vm_readv -1 EPERM\nptrace -1 EPERM\nsetns -1 EPERM\nunshare -1 EPERM\n"
        "userfaultfd -1 EPERM\nrefused\nrefused\nrefused\nrefused\na thread\n");
}

TEST_CASE_TEMPLATE("it sees its own processes, and of the host's devices only the harmless",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import os, stat
names = [open(f"/proc/{pid}/comm").read().strip() for pid in sorted(os.listdir("/proc")) if pid.isdigit()]
print("init" in names[0], len(names) < 8)
allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console", "stdin", "stdout", "stderr"}
devices = {name for name in os.listdir("/dev")
           if stat.S_ISCHR(os.stat("/dev/" + name).st_mode) or stat.S_ISBLK(os.stat("/dev/" + name).st_mode)}
print(sorted(devices - allowed))
print(os.uname().nodename, os.getcwd(), os.environ["HOME"], os.environ["USER"])
print([fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and fd < 10 and os.path.exists(f"/proc/self/fd/{fd}") and "socket" in os.readlink(f"/proc/self/fd/{fd}")])
)");
  INFO(result.stderr_text);
  CHECK(result.stdout_text == "True True\n[]\nsandbox /workspace /workspace sandbox\n[]\n");
}

TEST_CASE_TEMPLATE("C15: files of the host are there as the blueprint says", Backend,
                   ON_EVERY_BACKEND) {
  const TemporaryDirectory shown;
  const TemporaryDirectory shared;
  // A sandbox is an ordinary user.
  ::chmod(shown.path().c_str(), 0755);
  ::chmod(shared.path().c_str(), 0777);
  shown.write("in.txt", "from outside");
  blueprint::SandboxConfig config = Backend::config();
  config.resources = {{shown.path(), "/data/shown", true, {}},
                      {shared.path(), "/data/shared", false, {}}};
  Backend backend(config);
  const auto result = backend.run(R"(
import errno
print(open("/data/shown/in.txt").read())
try: open("/data/shown/new", "w")
except OSError as error: print(errno.errorcode[error.errno])
open("/data/shared/out.txt", "w").write("from inside")
)");
  CHECK(result.stdout_text == "from outside\nEROFS\n");
  CHECK(os::read_file(shared.path() / "out.txt", 100) == "from inside");
}
