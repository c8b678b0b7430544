// What a script may write to, and what it shares with the host and with other sandboxes.
#include "os/run_program.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Sandboxes are other users than the one that runs the tests.
void open_to_all(const fs::path& path) {
  fs::permissions(path, fs::is_directory(path) ? fs::perms(0777) : fs::perms(0666));
}

native::ZygoteContent with(std::vector<blueprint::Mount> mounts) {
  native::ZygoteContent environment = plain_environment();
  environment.mounts = std::move(mounts);
  return environment;
}

blueprint::Mount shown(const fs::path& host, const std::string& inside, bool read_only) {
  return {.source = host.string(), .target = inside, .read_only = read_only};
}

// `attempt(what, function)` prints the error's name, or "done".
const std::string print_attempts = R"py(
import errno, os
def attempt(what, function, *arguments):
    try:
        function(*arguments)
        print(what, 'done')
    except OSError as error: print(what, errno.errorcode[error.errno])
def write(path): open(path, 'w').write('changed')
)py";

}  // namespace

TEST_CASE("files can be made in /workspace, /tmp and /dev/shm and nowhere else") {
  CHECK(printed(R"py(
import os
def can_make(directory):
    path = os.path.join(directory, 'made-by-script')
    for make in ((lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY))), (lambda: os.mkdir(path + '.d')),
                 (lambda: os.symlink('x', path + '.l')), (lambda: os.mkfifo(path + '.p'))):
        try:
            make()
            return True
        except OSError: pass
    return False
open_to_us = []
for directory, names, _ in os.walk('/'):
    if can_make(directory): open_to_us.append(directory)
    if directory == '/proc': names[:] = ['self', 'sys', '1', 'net']
    if directory.startswith('/usr/share/') or directory.startswith('/usr/lib/'): names[:] = []
print(sorted(path for path in open_to_us if not path.endswith('.d')))
)py") == "['/dev/shm', '/tmp', '/workspace']\n");
}

TEST_CASE("what the system and our programs consist of cannot be changed") {
  CHECK(printed(print_attempts + R"py(
for path in ('/usr/bin/python3', '/etc/passwd', '/etc/ld.so.cache', '/hearth/init', '/hearth/executor_harness/__main__.py'):
    try: os.open(path, os.O_RDWR)
    except OSError as error: print(errno.errorcode[error.errno] in ('EROFS', 'EACCES', 'ETXTBSY'))
attempt('remove', os.remove, '/etc/passwd')
attempt('rename', os.rename, '/hearth', '/hearth2')
attempt('replace', os.rename, '/etc/hosts', '/workspace/hosts')
attempt('chmod', os.chmod, '/hearth/init', 0o777)
)py") == "True\nTrue\nTrue\nTrue\nTrue\nremove EROFS\nrename EROFS\nreplace EXDEV\nchmod EROFS\n");
}

TEST_CASE("behind the mounts stands Landlock") {
  // Everything it forbids is refused by a mount already, so it shows only in the number of layers
  // that can still be added to the kernel's 16: one is for all, and one for a worker's signals if
  // the kernel knows that.
  const std::string add_layers = R"py(
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
version = libc.syscall(444, None, 0, 1)
if version < 2: print('no Landlock')
handled = ctypes.c_uint64(1 << 11)  # making block devices
layers = 0
while True:
    ruleset = libc.syscall(444, ctypes.byref(handled), 8, 0)
    if libc.syscall(446, ruleset, 0) != 0: break
    os.close(ruleset)
    layers += 1
print(layers + (version >= 6), os.strerror(ctypes.get_errno()))
)py";
  CHECK(printed(add_layers) == "15 Argument list too long\n");
}

TEST_CASE("in a workspace files can be moved, linked and changed as usual") {
  CHECK(
      printed(R"py(
import os, shutil, stat
os.makedirs('a/b/c')
open('a/file', 'w').write('one')
os.rename('a/file', 'a/b/c/file')
os.rename('a/b', 'moved')
os.link('moved/c/file', 'hard')
os.symlink('moved/c/file', 'soft')
print(open('soft').read(), os.stat('hard').st_nlink, os.path.realpath('soft'))
os.replace('hard', 'soft')
print(os.path.islink('soft'), sorted(os.listdir('.')))
os.truncate('soft', 1)
os.chmod('soft', 0o1755)
print(open('soft').read(), oct(os.stat('soft').st_mode))
shutil.move('soft', '/tmp/moved')
shutil.copytree('moved', '/dev/shm/copied')
print(open('/tmp/moved').read(), os.listdir('/dev/shm/copied/c'))
shutil.rmtree('moved')
shutil.rmtree('a')
print(os.listdir('.'))
)py") ==
      "one 2 /workspace/moved/c/file\nFalse ['a', 'moved', 'soft']\no 0o101755\no ['file']\n[]\n");
}

TEST_CASE("a link out of the workspace leads to what the sandbox sees, not to the host") {
  const TemporaryDirectory host;
  host.write("secret", "of the host");
  CHECK(printed(print_attempts + "secret = '" + (host.path() / "secret").string() + R"py('
os.symlink(secret, 'link')
os.symlink('../../../../../../..' + secret, 'up')
os.symlink('/etc/passwd', 'passwd')
attempt('absolute', open, 'link')
attempt('upwards', open, 'up')
attempt('through the root', open, '/proc/self/root' + secret)
attempt('through init', open, '/proc/1/root' + secret)
attempt('write through', write, 'passwd')
print(open('passwd').readline().strip())
)py") == "absolute ENOENT\nupwards ENOENT\nthrough the root ENOENT\nthrough init EACCES\n"
         "write through EROFS\nroot:x:0:0::/:/usr/sbin/nologin\n");
}

TEST_CASE("a script cannot set the set-user bit") {
  CHECK(printed(R"py(
import os, shutil
shutil.copy('/usr/bin/id', 'own')
try: os.chmod('own', 0o6755)
except PermissionError: print('refused')
)py") == "refused\n");
}

TEST_CASE("P23: a program of root's with the set-user bit gives no rights") {
  if (!host_is_machine_root()) {
    MESSAGE("not tested: needs root");
    return;
  }
  const TemporaryDirectory host;
  open_to_all(host.path());
  const std::string program = host.path() / "id-of-root";
  fs::copy_file("/usr/bin/id", program);
  REQUIRE(::chmod(program.c_str(), 04755) == 0);
  // It does give them where nothing forbids it.
  const os::ProgramResult outside = os::run_program(
      {.program = "setpriv",
       .arguments = {"--reuid=12345", "--regid=12345", "--clear-groups", "--", program, "-u"}});
  REQUIRE_MESSAGE(outside.output == "0\n", "set TMPDIR to a directory that is not mounted nosuid");
  NativeSandboxes sandboxes({}, with({shown(host.path(), "/data", true)}));
  CHECK(printed(sandboxes, R"py(
import subprocess
print(subprocess.run(['/data/id-of-root', '-u'], capture_output=True, text=True).stdout.strip())
)py") == "1000\n");
}

TEST_CASE("C15: a read-only directory and file of the host can be read and not changed") {
  const TemporaryDirectory host;
  host.write("data.txt", "of the host");
  host.write("alone.txt", "a single file");
  fs::create_directory(host.path() / "inner");
  for (const std::string name : {"", "data.txt", "alone.txt", "inner"})
    open_to_all(host.path() / name);
  NativeSandboxes sandboxes({}, with({shown(host.path(), "/data", true),
                                      shown(host.path() / "alone.txt", "/files/alone.txt", true)}));
  CHECK(printed(sandboxes, print_attempts + R"py(
print(open('/data/data.txt').read(), '+', open('/files/alone.txt').read())
for path in ('/data/data.txt', '/data/new', '/data/inner/new', '/files/alone.txt', '/files/new'):
    attempt('write', write, path)
attempt('remove', os.remove, '/data/data.txt')
attempt('directory', os.mkdir, '/data/new')
attempt('rename', os.rename, '/data/data.txt', '/data/other')
attempt('chmod', os.chmod, '/data/data.txt', 0o777)
attempt('time', os.utime, '/data/data.txt')
attempt('truncate', os.truncate, '/data/data.txt', 0)
)py") == "of the host + a single file\n"
         "write EROFS\nwrite EROFS\nwrite EROFS\nwrite EROFS\nwrite EROFS\n"
         "remove EROFS\ndirectory EROFS\nrename EROFS\nchmod EROFS\ntime EROFS\ntruncate EROFS\n");
  CHECK(content_of(host.path() / "data.txt") == "of the host");
}

TEST_CASE("C15: a writable directory of the host can be written where its permissions allow") {
  const TemporaryDirectory host;
  host.write("closed.txt", "not for sandboxes");
  fs::permissions(host.path() / "closed.txt", fs::perms(0644));
  open_to_all(host.path());
  fs::create_directory(host.path() / "one");
  fs::create_directory(host.path() / "two");
  open_to_all(host.path() / "one");
  open_to_all(host.path() / "two");
  NativeSandboxes sandboxes({}, with({shown(host.path(), "/out", false)}));
  const std::string seen = printed(sandboxes, print_attempts + R"py(
attempt('write', write, '/out/result.txt')
attempt('append', write, '/out/closed.txt')
attempt('make', write, '/out/one/file')
attempt('move', os.rename, '/out/one/file', '/out/two/file')
attempt('link', os.symlink, '/etc/shadow', '/out/link')
attempt('device', os.mknod, '/out/device', 0o20666, 0x103)
attempt('fifo', os.mkfifo, '/out/fifo')
attempt('beside', write, '/out/../beside')
attempt('set-user', os.chmod, '/out/result.txt', 0o6777)
print(sorted(os.listdir('/out')))
)py");
  const bool is_other_user = native_host()->users.uids.has_value();
  CHECK(seen == std::string("write done\nappend ") + (is_other_user ? "EACCES" : "done") +
                    "\nmake done\nmove done\nlink done\ndevice EPERM\nfifo done\nbeside EROFS\n"
                    "set-user EPERM\n"
                    "['closed.txt', 'fifo', 'link', 'one', 'result.txt', 'two']\n");
  CHECK(content_of(host.path() / "result.txt") == "changed");
  CHECK(content_of(host.path() / "two" / "file") == "changed");
  struct stat info{};
  REQUIRE(::stat((host.path() / "result.txt").c_str(), &info) == 0);
  CHECK((info.st_mode & (S_ISUID | S_ISGID)) == 0);
  // A process that runs it becomes a user that exists for sandboxes only.
  if (is_other_user) CHECK(info.st_uid >= 0x77400000);
}

TEST_CASE("a writable file of the host can be written and not replaced") {
  const TemporaryDirectory host;
  host.write("shared.txt", "before");
  open_to_all(host.path() / "shared.txt");
  NativeSandboxes sandboxes({},
                            with({shown(host.path() / "shared.txt", "/shared/shared.txt", false)}));
  CHECK(printed(sandboxes, print_attempts + R"py(
attempt('write', write, '/shared/shared.txt')
attempt('remove', os.remove, '/shared/shared.txt')
attempt('neighbour', write, '/shared/other.txt')
)py") == "write done\nremove EROFS\nneighbour EROFS\n");
  CHECK(content_of(host.path() / "shared.txt") == "changed");
}

TEST_CASE("what one sandbox writes, another does not see") {
  NativeSandboxes sandboxes;
  const auto writer = sandboxes.spawn();
  const auto reader = sandboxes.spawn();
  printed(sandboxes, *writer, R"py(
import socket
for directory in ('/workspace', '/tmp', '/dev/shm'): open(directory + '/left', 'w').write('x')
from multiprocessing import shared_memory
import ctypes
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 4096, 0o1666) >= 0, libc.semget(4711, 1, 0o1666) >= 0)
)py");
  CHECK(printed(sandboxes, *reader, R"py(
import ctypes, os
print(*[os.listdir(directory) for directory in ('/workspace', '/tmp', '/dev/shm')])
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 4096, 0o666), libc.semget(4711, 1, 0o666))
)py") == "[] [] []\n-1 -1\n");
}

TEST_CASE("two sandboxes can serve on the same port without meeting") {
  NativeSandboxes sandboxes;
  const auto one = sandboxes.spawn();
  const auto other = sandboxes.spawn();
  const std::string serve = R"py(
import socket
server = socket.create_server(('127.0.0.1', 8080))
print('serves')
)py";
  CHECK(sandboxes.run_in(*one, serve).stdout_text == "serves\n");
  CHECK(printed(sandboxes, *other, R"py(
import errno, socket
with socket.socket() as client: print(errno.errorcode[client.connect_ex(('127.0.0.1', 8080))])
)py" + serve) == "ECONNREFUSED\nserves\n");
}
