// The identity of a script: an unprivileged user, alone, without any right.
#include "native/native_sandbox.h"
#include "native/pidfd.h"
#include "native/posture.h"
#include "os/read_file.h"
#include "os/user_rights.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

std::set<unsigned> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::set<unsigned> numbers;
  for (unsigned number = 0; words >> number;) numbers.insert(number);
  return numbers;
}

// Real, effective, saved and file system user and group of all its processes.
std::set<unsigned> host_ids_of(const backend::Sandbox& sandbox) {
  std::set<unsigned> ids;
  for (const pid_t pid : processes_of(sandbox)) {
    ids.merge(numbers_in(status_line(pid, "Uid")));
    ids.merge(numbers_in(status_line(pid, "Gid")));
  }
  return ids;
}

bool is_harmless(const fs::path& descriptor) {
  std::error_code gone;
  const std::string target = fs::read_symlink(descriptor, gone);
  if (gone) return true;
  // Init asks the kernel for its children, in the sandbox's own /proc.
  for (const std::string kind : {"socket:[", "pipe:[", "anon_inode:", "/proc/1/task/1/children"})
    if (target.starts_with(kind)) return true;
  struct stat info{};
  // A worker that rehearses may have closed it since.
  if (::stat(descriptor.c_str(), &info) != 0) return target == "/dev/null" && errno == ENOENT;
  if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)) return true;
  MESSAGE(descriptor.string(), " is ", target);
  return false;
}

}  // namespace

TEST_CASE("no process of a sandbox has a capability or can gain one") {
  const std::string seen = printed(R"py(
import ctypes, os
libc = ctypes.CDLL(None)
seen = set()
for name in os.listdir('/proc'):
    if name.isdigit():
        for line in open('/proc/%s/status' % name):
            if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp')): seen.add(' '.join(line.split()))
for line in sorted(seen): print(line)
print('securebits', hex(libc.prctl(27, 0, 0, 0, 0)))
)py");
  CHECK(seen ==
        "CapAmb: 0000000000000000\n"
        "CapBnd: 0000000000000000\n"
        "CapEff: 0000000000000000\n"
        "CapInh: 0000000000000000\n"
        "CapPrm: 0000000000000000\n"
        "NoNewPrivs: 1\n"
        "Seccomp: 2\n"
        "Seccomp_filters: 2\n"
        "securebits 0xef\n");
}

TEST_CASE("inside, a script is user 1000 of a namespace that knows no other") {
  CHECK(printed(R"py(
import os, pwd, getpass
print(os.getresuid(), os.getresgid(), os.getgroups())
print(pwd.getpwuid(os.getuid()).pw_name, getpass.getuser(), os.path.expanduser('~'))
for path in ('/proc/self/uid_map', '/proc/self/gid_map'):
    lines = open(path).read().splitlines()
    print(len(lines), lines[0].split()[0], lines[0].split()[2])
print(open('/proc/self/setgroups').read().strip())
for become in (os.setuid, os.setgid, lambda user: os.setgroups([user])):
    for user in (0, 1, 65534):
        try:
            become(user)
            print('became', user)
        except OSError: pass
)py") == "(1000, 1000, 1000) (1000, 1000, 1000) []\n"
         "sandbox sandbox /workspace\n"
         "1 1000 1\n"
         "1 1000 1\n"
         "deny\n");
}

TEST_CASE("every live sandbox has a user of its own on the host") {
  if (!native_host()->users.claim) return;  // one user has no others to give
  NativeSandboxes one_environment;
  NativeSandboxes other_environment;
  std::vector<std::unique_ptr<backend::Sandbox>> live;
  for (NativeSandboxes* sandboxes : {&one_environment, &one_environment, &other_environment})
    live.push_back(sandboxes->spawn());
  std::set<unsigned> all;
  for (const auto& sandbox : live) {
    const std::set<unsigned> ids = host_ids_of(*sandbox);
    REQUIRE(ids.size() == 1);
    CHECK(*ids.begin() > native_host()->users.uids->first);
    CHECK(*ids.begin() - native_host()->users.uids->first < native_host()->users.uids->count);
    CHECK(all.insert(*ids.begin()).second);
    for (const pid_t pid : processes_of(*sandbox))
      CHECK(numbers_in(status_line(pid, "Groups")).empty());
  }
}

TEST_CASE("the machine's root is in no user namespace of a sandbox or its zygote") {
  const std::optional<uid_t> host_root = os::host_root_uid();
  if (!host_root) return;  // nor is it in ours
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  std::vector<pid_t> pids = processes_of(*sandbox);
  pids.push_back(zygote_of(*sandbox));
  pids.push_back(parent_of(zygote_of(*sandbox)));  // the launcher
  CHECK(pids.size() == 5);
  for (const pid_t pid : pids)
    for (const std::string map : {"/uid_map", "/gid_map"}) {
      const std::string text = os::read_file("/proc/" + std::to_string(pid) + map, 4096);
      CAPTURE(text);
      // Inside, outside, count.
      std::istringstream words(text);
      unsigned inside = 0;
      unsigned first = 0;
      unsigned count = 0;
      words >> inside >> first >> count;
      REQUIRE(words.good());
      const bool has_host_root = *host_root >= first && *host_root - first < count;
      CHECK_FALSE(has_host_root);
      const bool has_another_line = static_cast<bool>(words >> inside);
      CHECK_FALSE(has_another_line);
    }
}

// The second was the one that made its user namespace.
TEST_CASE("a sandbox consists of init, a worker and the holder of the worker's memory") {
  NativeSandboxes sandboxes;
  const auto neighbour = sandboxes.spawn();
  const auto sandbox = sandboxes.spawn();
  CHECK(printed(sandboxes, *sandbox, R"py(
import os
def status(pid): return dict(line.split(':\t', 1) for line in open('/proc/%d/status' % pid))
for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit()):
    print(pid, status(pid)['PPid'].strip(), 'itself' if pid == os.getpid() else '')
print(os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())
)py") == "1 0 \n3 1 itself\n4 1 \nTrue True\n");
}

TEST_CASE("a script's descriptors are its streams and its two pipes") {
  CHECK(printed(R"py(
import os, stat
for fd in range(2048):
    try: info = os.fstat(fd)
    except OSError: continue
    kind = 'pipe' if stat.S_ISFIFO(info.st_mode) else os.readlink('/proc/self/fd/%d' % fd)
    print(fd, kind, 'inherited' if os.get_inheritable(fd) else 'own')
)py") == "0 /dev/null inherited\n1 pipe inherited\n2 pipe inherited\n3 pipe own\n4 pipe own\n");
}

TEST_CASE("the user that runs the host sees all descriptors of a sandbox's processes") {
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const std::vector<pid_t> pids = processes_of(*sandbox);
  CHECK(pids.size() == 3);
  for (const pid_t pid : pids) {
    // At least its three streams, and what connects it with the others.
    const auto descriptors = native::observe_process(pid).descriptors;
    CHECK(descriptors.size() >= 4);
    CHECK(std::count(descriptors.begin(), descriptors.end(), "/dev/null") >= 1);
  }
}

TEST_CASE("no process of a sandbox holds a file or directory of the host") {
  if (!host_is_machine_root()) return;  // only root can look
  NativeSandboxes sandboxes;
  const auto neighbour = sandboxes.spawn();
  const auto sandbox = sandboxes.spawn();
  printed(sandboxes, *sandbox, "pass");
  const std::vector<pid_t> pids = processes_of(*sandbox);
  CHECK_FALSE(pids.empty());
  for (const pid_t pid : pids) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone)) {
      std::error_code ignored;
      CAPTURE(fs::read_symlink(entry.path(), ignored).string());
      CHECK(is_harmless(entry.path()));
    }
  }
}

TEST_CASE("init cannot be read, written, traced or robbed of descriptors") {
  // One user has only one name outside: the numbers of its descriptors can be listed.
  const std::string owned_by_root = native_host()->users.claim ? "('fd', 'clear_refs')" : "()";
  CHECK(printed("owned_by_root = " + owned_by_root + R"py(
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 16, 0x4206, 434, 438
for pid in (1,):
    for name in ('mem', 'environ', 'maps', 'smaps', 'auxv', 'stack', 'syscall', 'root', 'cwd', 'exe',
                 'ns/user', 'ns/mnt', 'map_files', 'fdinfo', 'pagemap', *owned_by_root):
        path = '/proc/%d/%s' % (pid, name)
        for attempt in ((lambda: open(path, 'rb').read(1)), (lambda: open(path, 'wb').write(b'1')),
                        (lambda: os.readlink(path)), (lambda: os.listdir(path))):
            try:
                attempt()
                print('reached', name, 'of', pid)
            except (OSError, ValueError): pass
    for fd in range(64):
        try:
            os.open('/proc/%d/fd/%d' % (pid, fd), os.O_RDWR)
            print('opened descriptor', fd, 'of', pid)
        except OSError: pass
    for request in (PTRACE_ATTACH, PTRACE_SEIZE):
        if libc.ptrace(request, pid, None, None) == 0: print('traced', pid)
    handle = libc.syscall(PIDFD_OPEN, pid, 0)
    for fd in range(32):
        if libc.syscall(PIDFD_GETFD, handle, fd, 0) >= 0: print('took a descriptor of', pid)
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(0x400000, 8)
    if libc.process_vm_readv(pid, vector, 1, remote, 1, 0) > 0: print('read memory of', pid)
print('done')
)py") == "done\n");
}

TEST_CASE("a new sandbox is closed before its processes have run at all") {
  if (!host_is_machine_root()) return;  // only root can look
  NativeSandboxes sandboxes;
  for (int round = 0; round < 50; ++round) {
    const auto sandbox = sandboxes.spawn();
    const pid_t init = init_of(*sandbox);
    const std::set<unsigned> ids = host_ids_of(*sandbox);
    REQUIRE(processes_of(*sandbox).size() == 3);
    for (const pid_t pid : processes_of(*sandbox)) {
      // What may be traced belongs to its user, everything else to root.
      struct stat info{};
      REQUIRE(::stat(("/proc/" + std::to_string(pid) + "/mem").c_str(), &info) == 0);
      CAPTURE(pid - init);
      CHECK_FALSE(ids.contains(info.st_uid));
      for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
        CHECK(is_harmless(entry.path()));
    }
  }
}

TEST_CASE("a script's environment and directory are exactly the promised ones") {
  CHECK(printed(R"py(
import os, sys
for name in sorted(os.environ): print(name + '=' + os.environ[name])
print(os.getcwd(), sys.argv, sys.executable)
print(oct(os.umask(0)))
)py") == "HOME=/workspace\nLANG=C.UTF-8\nMPLBACKEND=Agg\n"
         "PATH=/hearth/bin:/usr/local/bin:/usr/bin:/bin\nTMPDIR=/tmp\nUSER=sandbox\n/workspace "
         "['/workspace/script.py'] " +
             plain_environment().python.string() + "\n0o22\n");
  // What the process was started with, before Python changed it.
  CHECK(printed(R"py(
print(sorted(entry.split('=')[0] for entry in open('/proc/self/environ').read().split('\0') if entry))
)py") == "['HEARTH_CONTROL_FD', 'HEARTH_SECCOMP_FD', 'HOME', 'LANG', 'PATH', 'TMPDIR', 'USER']\n");
}

TEST_CASE("a script's limits are set and cannot be raised") {
  CHECK(printed(R"py(
import resource
for name in ('CORE', 'NOFILE', 'MEMLOCK', 'SIGPENDING', 'MSGQUEUE', 'RTPRIO', 'NICE'):
    which = getattr(resource, 'RLIMIT_' + name)
    print(name, *resource.getrlimit(which))
    soft, hard = resource.getrlimit(which)
    try:
        resource.setrlimit(which, (hard + 1, hard + 1))
        print('raised', name)
    except (OSError, ValueError): pass
)py") == "CORE 1 1\nNOFILE 1024 1024\nMEMLOCK 65536 65536\nSIGPENDING 1024 1024\n"
         "MSGQUEUE 0 0\nRTPRIO 0 0\nNICE 0 0\n");
}

TEST_CASE("when the machine's memory ends, a sandbox goes before anything unmarked") {
  CHECK(printed(R"py(
print(open('/proc/self/oom_score_adj').read().strip())
try:
    open('/proc/self/oom_score_adj', 'wb', 0).write(b'-1')
    print('better than others')
except OSError as error: print(error.strerror)
)py") == "500\nPermission denied\n");
}

TEST_CASE("a thread that a tool started and kept does not stop sandboxes from being made") {
  const TemporaryDirectory tools;
  tools.write("waits.py",
              "import threading, time\n"
              "threading.Thread(target=time.sleep, args=(100_000,), daemon=True).start()\n");
  native::ZygoteContent environment = plain_environment();
  environment.tools = tools.path();
  NativeSandboxes sandboxes({}, environment);
  for (int i = 0; i < 5; ++i)
    CHECK(printed(sandboxes, *sandboxes.spawn(),
                  "import threading\nprint(threading.active_count())") == "1\n");
}

TEST_CASE("a thread that a tool started without saying so does not hold up what scripts print") {
  const TemporaryDirectory tools;
  tools.write("says.py",
              "import _thread, time\n"
              "def say():\n"
              "    while True: print('x' * 200, flush=True)\n"
              "_thread.start_new_thread(say, ())\n"
              "time.sleep(0.05)\n");
  native::ZygoteContent environment = plain_environment();
  environment.tools = tools.path();
  NativeSandboxes sandboxes({}, environment);
  for (int i = 0; i < 5; ++i)
    CHECK(printed(sandboxes, *sandboxes.spawn(), "print('heard')") == "heard\n");
}

TEST_CASE("a process that a script forks knows that it has one thread") {
  CHECK(printed(R"py(
import os, threading
stop = threading.Event()
threading.Thread(target=stop.wait, daemon=True).start()
child = os.fork()
if child == 0: os._exit(threading.active_count())
print(threading.active_count(), os.waitpid(child, 0)[1] >> 8)
)py") == "2 1\n");
}

TEST_CASE("a script is told on which processor it runs") {
  CHECK(printed(R"py(
import ctypes, os
libc = ctypes.CDLL(None)
for processor in sorted(os.sched_getaffinity(0)):
    os.sched_setaffinity(0, {processor})
    if libc.sched_getcpu() != processor: print('on', libc.sched_getcpu(), 'not', processor)
print('done')
)py") == "done\n");
}

TEST_CASE("a sandbox has its full share of the processors until it is killed") {
  if (!native_host()->cgroups) return;  // accepted by another test that runs this one
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  const native::Cgroup& group = *dynamic_cast<native::NativeSandbox&>(*sandbox).cgroup();
  const std::filesystem::path directory = group.directories().back();
  const bool is_v2 = std::filesystem::exists(directory / "cpu.weight");
  const auto value = [&](const char* file) {
    return std::stoi(os::read_file(directory / file, 64));
  };
  const auto share = [&] { return value(is_v2 ? "cpu.weight" : "cpu.shares"); };
  CHECK(value("cpu.idle") == 0);
  CHECK(share() == (is_v2 ? 100 : 1024));
  if (is_v2) CHECK(value("memory.oom.group") == 1);
  sandbox->kill();
  CHECK(value("cpu.idle") == 1);
  // Not for ever: processes that never sleep would keep it from its end. One that has ended by
  // itself stays as it is.
  const int pidfd = dynamic_cast<native::NativeSandbox&>(*sandbox).pidfd();
  while (value("cpu.idle") == 1 && !native::has_ended(pidfd)) sandboxes.loop().poll();
}
