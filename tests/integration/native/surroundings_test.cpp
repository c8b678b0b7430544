// What a script finds around itself: files, devices, network, the kernel's tables.
#include "tests/support/in_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

const std::string print_mounts = R"py(
for line in open('/proc/self/mountinfo'):
    fields = line.split()
    flags = [flag for flag in fields[5].split(',') if flag in ('ro', 'rw', 'nosuid', 'nodev', 'noexec')]
    print(fields[4], ','.join(flags))
)py";

using Lines = std::multiset<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_system_directory(const std::string& path) {
  return fs::is_directory(path) && !fs::is_symlink(path);
}

void add_if_present(Lines& lines, const std::string& flags,
                    std::initializer_list<std::string> paths) {
  for (const std::string& path : paths)
    if (fs::exists(path)) lines.insert(path + " " + flags);
}

Lines expected_mounts() {
  const std::string shown = "ro,nosuid,nodev";
  const std::string device = "ro,nosuid,noexec";
  Lines lines{"/ ro,nosuid,nodev", "/dev/shm rw,nosuid,nodev", "/dev/pts rw,nosuid,noexec"};
  // The zygote's, and over it the sandbox's own.
  for (const std::string mount :
       {"/proc rw,nosuid,nodev,noexec", "/workspace rw,nosuid,nodev", "/tmp rw,nosuid,nodev"}) {
    lines.insert(mount);
    lines.insert(mount);
  }
  for (const std::string path :
       {"/usr", "/hearth/init", "/hearth/libhearth-isolate.so", "/hearth/executor_harness"})
    lines.insert(path + " " + shown);
  for (const std::string path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"})
    if (is_system_directory(path)) lines.insert(path + " " + shown);
  add_if_present(lines, shown,
                 {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
                  "/etc/timezone", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
                  "/etc/alternatives", "/etc/mime.types", "/etc/services", "/etc/protocols",
                  "/etc/fonts", "/etc/matplotlibrc", "/etc/python3", "/etc/python3.11",
                  "/etc/python3.12", "/etc/python3.13"});
  const fs::path installation = plain_environment().python.parent_path().parent_path();
  if (installation != "/usr") lines.insert(installation.string() + " " + shown);
  for (const std::string name : {"null", "zero", "full", "random", "urandom", "tty"})
    lines.insert("/dev/" + name + " " + device);
  add_if_present(lines, device,
                 {"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list",
                  "/proc/sched_debug", "/proc/kallsyms", "/proc/kmsg", "/proc/latency_stats",
                  "/proc/interrupts", "/proc/config.gz", "/proc/locks"});
  add_if_present(lines, "ro,nosuid,nodev,noexec",
                 {"/proc/acpi", "/proc/scsi", "/proc/asound", "/proc/pressure", "/proc/sys",
                  "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"});
  return lines;
}

std::string expected_root() {
  std::set<std::string> names{"dev", "etc", "hearth", "proc", "tmp", "tools", "usr", "workspace"};
  for (const std::string name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
    if (fs::exists("/" + name) || fs::is_symlink("/" + name)) names.insert(name);
  const fs::path installation = plain_environment().python.parent_path().parent_path();
  names.insert(std::next(installation.begin())->string());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text + "\n";
}

}  // namespace

TEST_CASE("a sandbox's mounts are exactly the promised ones") {
  CHECK(joined(lines_of(printed(print_mounts))) == joined(expected_mounts()));
}

TEST_CASE("the root holds the system, our programs and the sandbox's own directories") {
  CHECK(printed("import os\nprint(*sorted(os.listdir('/')))") == expected_root());
  CHECK(printed("import os\nprint(*sorted(os.listdir('/hearth')), os.listdir('/tools'))") ==
        "bin executor_harness init libhearth-isolate.so []\n");
}

TEST_CASE("/dev holds six devices, five links, terminals and shared memory") {
  CHECK(printed(R"py(
import os, stat
for name in sorted(os.listdir('/dev')):
    info = os.lstat('/dev/' + name)
    if stat.S_ISCHR(info.st_mode): print(name, os.major(info.st_rdev), os.minor(info.st_rdev))
    elif stat.S_ISLNK(info.st_mode): print(name, os.readlink('/dev/' + name))
    else: print(name, 'directory' if stat.S_ISDIR(info.st_mode) else '?')
print(len(open('/dev/urandom', 'rb').read(8)), open('/dev/zero', 'rb').read(2), open('/dev/null').read())
open('/dev/null', 'w').write('gone')
try: open('/dev/full', 'wb', 0).write(b'x')
except OSError as error: print(error.strerror)
)py") == "fd /proc/self/fd\nfull 1 7\nnull 1 3\nptmx pts/ptmx\npts directory\nrandom 1 8\n"
         "shm directory\n"
         "stderr /proc/self/fd/2\nstdin /proc/self/fd/0\nstdout /proc/self/fd/1\n"
         "tty 5 0\nurandom 1 9\nzero 1 5\n8 b'\\x00\\x00' \nNo space left on device\n");
}

TEST_CASE("C14: the only network interface is the sandbox's own loopback, and it is up") {
  CHECK(printed(R"py(
import errno, fcntl, socket, struct
print([line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    answer = fcntl.ioctl(any_socket, 0x8913, struct.pack('16sh14x', b'lo', 0))
print('up' if struct.unpack('16sh14x', answer)[1] & 1 else 'down')
print(len(open('/proc/net/route').read().splitlines()), 'line of routes')
errors = set()
for address in ('1.1.1.1', '169.254.169.254', '10.0.0.1', '172.17.0.1'):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as outward:
            errors.add(errno.errorcode[outward.connect_ex((address, 53))])
with socket.socket(socket.AF_INET6) as outward:
    errors.add(errno.errorcode[outward.connect_ex(('2606:4700:4700::1111', 53))])
print(errors)
)py") == "['lo']\nup\n1 line of routes\n{'ENETUNREACH'}\n");
}

TEST_CASE("services and protocols have their names") {
  CHECK(printed("import socket\n"
                "print(socket.getservbyname('https', 'tcp'), socket.getprotobyname('tcp'),\n"
                "      socket.getaddrinfo('127.0.0.1', 'http')[0][4][1])") == "443 6 80\n");
}

TEST_CASE("services of the host on its loopback and its abstract sockets cannot be reached") {
  NativeSandboxes sandboxes;
  // The claim on a range of users is an abstract socket of the host, and so always there.
  CHECK(printed(sandboxes, R"py(
import errno, socket
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
    for index in range(64):
        try:
            client.connect('\0hearth-users-%d' % index)
            print('reached the host')
        except ConnectionRefusedError: pass
print(sum(len(line.split()) > 7 for line in open('/proc/net/unix')) - 1, 'named sockets')
print(len(open('/proc/net/tcp').read().splitlines()) - 1, 'connections')
)py") == "0 named sockets\n0 connections\n");
}

TEST_CASE("a sandbox has a name of its own and cannot change it") {
  CHECK(printed(R"py(
import socket
print(socket.gethostname(), socket.gethostbyname('localhost'), socket.gethostbyname('sandbox'))
try: socket.sethostname('other')
except OSError as error: print(error.strerror)
)py") == "sandbox 127.0.0.1 127.0.0.1\nOperation not permitted\n");
}

TEST_CASE("the kernel's tables that tell of the machine are empty, and there is no /sys") {
  CHECK(printed(R"py(
import os
print(os.path.exists('/sys'))
for name in ('kcore', 'keys', 'key-users', 'timer_list', 'sched_debug', 'kallsyms', 'kmsg',
             'latency_stats', 'interrupts', 'config.gz'):
    try: content = open('/proc/' + name, 'rb').read(1)
    except FileNotFoundError: continue
    if content: print(name, 'tells something')
for name in ('acpi', 'scsi', 'asound', 'pressure'):
    if os.path.exists('/proc/' + name) and os.listdir('/proc/' + name): print(name, 'is not empty')
)py") == "False\n");
}

TEST_CASE("a process cannot write what /proc says of itself") {
  CHECK(printed(R"py(
import errno, os, subprocess, sys
writable = set()
for process in ('self', 'thread-self', '1', str(os.getpid())):
    for directory, names, files in os.walk('/proc/' + process):
        names[:] = [name for name in names if name in ('attr', 'task', 'net')]
        for name in files:
            try: os.close(os.open(directory + '/' + name, os.O_WRONLY | os.O_NONBLOCK))
            except OSError: continue
            writable.add(name)
print(writable)
try: open('/proc/self/oom_score_adj', 'w').write('-1000')
except OSError as error: print(errno.errorcode[error.errno])
)py") == "set()\nEACCES\n");
}

TEST_CASE(
    "standard streams and open files can be opened by the names they have in /dev and /proc") {
  NativeSandboxes sandboxes;
  const auto result = sandboxes.run(R"py(
import os, subprocess
for path in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1', '/proc/thread-self/fd/1'):
    with open(path, 'w') as stream: stream.write(path + '\n')
with open('/dev/stderr', 'a') as stream: stream.write('an error\n')
subprocess.run('echo by a shell > /dev/stdout; echo wrong > /dev/stderr; echo twice | tee /dev/stderr',
               shell=True, check=True)
file = os.open('file', os.O_RDWR | os.O_CREAT)
with open('/dev/fd/%d' % file, 'w') as again: again.write('by its number')
print(open('file').read())
)py");
  CHECK(result.stderr_text == "an error\nwrong\ntwice\n");
  CHECK(result.stdout_text ==
        "/dev/stdout\n/dev/fd/1\n/proc/self/fd/1\n/proc/thread-self/fd/1\nby a shell\ntwice\n"
        "by its number\n");
}

TEST_CASE("devices of the host can be used, and nothing about them changed") {
  CHECK(printed(R"py(
import errno, os
def tried(what, *arguments, **options):
    try:
        what(*arguments, **options)
        return 'done'
    except OSError as error: return errno.errorcode[error.errno]
devices = ['/dev/' + name for name in ('null', 'zero', 'full', 'random', 'urandom')] + ['/proc/kcore']
devices = [device for device in devices if os.path.exists(device)]
before = [os.stat(device).st_mtime_ns for device in devices]
print({tried(os.utime, device) for device in devices},
      {tried(os.utime, os.open(device, os.O_WRONLY)) for device in ('/dev/null', '/dev/zero')},
      {tried(os.setxattr, device, 'user.name', b'value') for device in devices})
print([os.stat(device).st_mtime_ns for device in devices] == before)
with open('/dev/null', 'wb', 0) as null: print(null.write(b'gone'))
print(open('/dev/zero', 'rb').read(2), len(open('/dev/urandom', 'rb').read(4)))
)py") == "{'EROFS'} {'EROFS'} {'ENOTSUP'}\nTrue\n4\nb'\\x00\\x00' 4\n");
}

TEST_CASE("nothing in /proc can be written but what belongs to the writer") {
  CHECK(printed(R"py(
import errno, os
null = os.stat('/dev/null').st_rdev
opened = tried = 0
for directory, names, files in os.walk('/proc'):
    if directory == '/proc': names[:] = [n for n in names if not n.isdigit() and 'self' not in n]
    for name in files:
        path = os.path.join(directory, name)
        try:
            if os.lstat(path).st_rdev == null: continue  # hidden: it is /dev/null
            tried += 1
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            print('can write', path)
        except OSError: pass
print('tried many' if tried > 100 else 'tried too few')
for path in ('/proc/sys/kernel/ns_last_pid', '/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger'):
    try: open(path, 'w').write('1')
    except OSError as error: print(errno.errorcode[error.errno] in ('EROFS', 'EACCES', 'ENOENT'))
)py") == "tried many\nTrue\nTrue\nTrue\n");
}

TEST_CASE("nothing of the host's own files can be seen") {
  const TemporaryDirectory host_directory;
  host_directory.write("canary-5d1f", "a secret of the host");
  const std::string path = host_directory.path().string();
  CHECK(printed("canary = '" + path + R"py('
import os
for path in ('/home', '/root', '/var', '/run', '/boot', '/opt', '/mnt', '/media', '/srv', '/sys',
             '/etc/shadow', '/etc/ssh', '/etc/hostname', '/etc/resolv.conf', '/etc/machine-id',
             '/etc/environment', '/old', '/new', canary):
    if os.path.lexists(path): print('sees', path)
for directory, _, names in os.walk('/'):
    if directory.startswith(('/proc', '/usr')): continue
    for name in names:
        if 'canary' in name: print('found', directory, name)
for start in ('/proc/self/root', '/proc/self/cwd', '/proc/thread-self/root'):
    if os.path.exists(start + '/../../../..' + canary): print('climbed out by', start)
print(sorted(os.listdir('/tmp')), sorted(os.listdir('/dev/shm')), sorted(os.listdir('/workspace')))
)py") == "[] [] []\n");
}

TEST_CASE("a sandbox's groups look to it like the root of every tree") {
  CHECK(printed(R"py(
paths = {line.strip().split(':', 2)[2] for line in open('/proc/self/cgroup')}
print(sorted(path for path in paths if path != '/'))
)py") == "[]\n");
}
