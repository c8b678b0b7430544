// A reset: the sandbox as it was when it was new.
#include "tests/support/clean_turn.h"
#include "tests/support/sandbox_process.h"

#include <boost/asio/co_spawn.hpp>

#include <doctest/doctest.h>

#include <exception>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// After `leave` and a reset, `look` prints what it printed before; without the reset it would not.
void check_gone_after_reset(const std::string& leave, const std::string& look) {
  Sandbox sandbox;
  const std::string untouched = sandbox.run(look).stdout_text;
  CHECK(sandbox.run(leave).verdict == Verdict::ok);
  CHECK(sandbox.run(look).stdout_text != untouched);
  const wire::ResetDone done = sandbox.reset();
  CAPTURE(done.message);
  CHECK(done.clean);
  CHECK(sandbox.run(look).stdout_text == untouched);
}

constexpr const char* list_files = R"py(
import os
for top in ('/workspace', '/tmp', '/dev/shm'):
    print(top, oct(os.stat(top).st_mode), sorted(os.listdir(top)))
)py";

}  // namespace

TEST_CASE("a reset removes files of every kind from all that is writable") {
  check_gone_after_reset(R"py(
import os, socket
for top in ('/workspace', '/tmp', '/dev/shm'):
    os.chdir(top)
    os.makedirs('.hidden/a/b/c')
    open('.hidden/a/b/c/file', 'w').write('x')
    open('n' * 255, 'w')
    open('new\nline', 'w')
    open(b'\xff\xfe', 'w')
    os.symlink('/etc', 'link')
    os.symlink('nowhere', 'dangling')
    os.mkfifo('fifo')
    socket.socket(socket.AF_UNIX).bind('socket')
    os.link('new\nline', 'hard')
    open('sparse', 'wb').truncate(1 << 40)
    for n in range(500): open('many-%d' % n, 'w')
    os.chmod('.hidden/a/b', 0)
    os.chmod('.hidden', 0)
    os.chmod(top, 0o500)
)py",
                         list_files);
}

TEST_CASE("a reset wipes a tree that is deeper than any path") {
  check_gone_after_reset(R"py(
import os
os.chdir('/workspace')
for _ in range(5000):
    os.mkdir('d')
    os.chdir('d')
open('bottom', 'w')
)py",
                         list_files);
}

TEST_CASE("a reset removes what was written onto the directories themselves") {
  check_gone_after_reset(R"py(
import os, struct
everybody = 0xffffffff
acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in (
    (1, 7, everybody), (2, 7, 1000), (4, 5, everybody), (16, 7, everybody), (32, 5, everybody)))
for top in ('/workspace', '/tmp', '/dev/shm'):
    for name, value in (('user.nonce', b'42'), ('system.posix_acl_access', acl),
                        ('system.posix_acl_default', acl)):
        try: os.setxattr(top, name, value)
        except OSError: pass  # older kernels have no attributes on tmpfs
    os.utime(top, (4242, 4242))
)py",
                         R"py(
import os
for top in ('/workspace', '/tmp', '/dev/shm'):
    status = os.stat(top)
    print(top, os.listxattr(top), oct(status.st_mode), status.st_mtime < 10_000, status.st_atime < 10_000)
)py");
}

TEST_CASE("a reset removes shared memory, semaphores and message queues") {
  check_gone_after_reset(R"py(
import ctypes
from multiprocessing import shared_memory, resource_tracker
resource_tracker.register = lambda *args: None
libc = ctypes.CDLL(None)
IPC_CREAT = 0o1000
for key in (0, 4242):
    assert libc.shmget(key, 4096, IPC_CREAT | 0o600) >= 0
    assert libc.semget(key, 1, IPC_CREAT | 0o600) >= 0
    assert libc.msgget(key, IPC_CREAT | 0o600) >= 0
shared_memory.SharedMemory('nonce', create=True, size=10)
)py",
                         R"py(
import os
for kind in ('shm', 'sem', 'msg'):
    print(kind, len(open('/proc/sysvipc/' + kind).readlines()) - 1)
print(os.listdir('/dev/shm'))
)py");
}

TEST_CASE("a script gets no POSIX message queue, which no reset could find") {
  Sandbox sandbox;
  CHECK(sandbox
            .run("import ctypes, os\nprint(ctypes.CDLL(None).mq_open(b'/nonce', os.O_CREAT | "
                 "os.O_RDWR, 0o600, None))")
            .stdout_text == "-1\n");
}

TEST_CASE("a reset ends steps, their variables and all they started") {
  Sandbox sandbox;
  CHECK(sandbox
            .step(R"py(
import os, subprocess, threading, time
x = 1
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
subprocess.Popen(['sleep', '1000'], start_new_session=True)
if os.fork() == 0:
    while True: open('/workspace/again', 'w').close()
)py")
            .verdict == Verdict::ok);
  CHECK(sandbox.reset().clean);
  const auto next = sandbox.step("import os\nprint('x' in globals(), os.listdir('/workspace'))");
  CHECK(next.stdout_text == "False []\n");
  CHECK(next.logs.empty());
}

TEST_CASE("a reset in a row, before the first turn and after failed ones, is clean") {
  Sandbox sandbox;
  CHECK(sandbox.reset().clean);
  CHECK(sandbox.reset().clean);
  for (const std::string script : {"1 / 0", "import os\nos._exit(1)", "import os\nos.abort()"}) {
    sandbox.run(script);
    CHECK(sandbox.reset().clean);
    check_clean_turn(sandbox);
  }
}

TEST_CASE("a reset that meets the harness in the middle of a fork does not hang") {
  Sandbox sandbox;
  for (int round = 0; round < 300; ++round) {
    REQUIRE(sandbox.run("pass").verdict == Verdict::ok);
    REQUIRE(sandbox.reset().clean);
  }
  check_clean_turn(sandbox);
}

namespace {

Task<> reset_then_cancel(Sandbox& sandbox) {
  co_await sandbox.process().channel().send(wire::ResetRequest{});
  co_await sandbox.executor().cancel();
}

}  // namespace

TEST_CASE("a reset in the middle of a turn is refused and leaves the turn alone") {
  Sandbox sandbox;
  const auto when_running = [&sandbox](const wire::Event& event) {
    if (std::holds_alternative<wire::Log>(event.body))
      asio::co_spawn(sandbox.loop(), reset_then_cancel(sandbox),
                     [&](std::exception_ptr error) { CHECK(error == nullptr); });
  };
  const auto result =
      sandbox.run(request_for("open('/workspace/kept', 'w')\nemit_log('running')\nimport time\n"
                              "while True: time.sleep(1)",
                              60),
                  when_running);
  CHECK(result.verdict == Verdict::cancelled);
  CHECK(result.foreign_events == 1);
  CHECK(sandbox.run("import os\nprint(os.listdir('/workspace'))").stdout_text == "['kept']\n");
}

TEST_CASE("files stay from turn to turn of one lease") {
  Sandbox sandbox;
  CHECK(sandbox.run("open('/workspace/kept', 'w').write('data')").verdict == Verdict::ok);
  CHECK(sandbox.run("print(open('/workspace/kept').read())").stdout_text == "data\n");
  CHECK(sandbox.step("print(open('kept').read())").stdout_text == "data\n");
}

// A reset may kill the process between the two forks of a worker that is there already, and then
// the harness says late that it failed. Believed, it would make init drop the worker on its way and
// the next turn would meet that one.
TEST_CASE("the harness's late word about an earlier worker changes nothing for the next") {
  Sandbox sandbox({.harness = R"sh(exec /usr/bin/python3 -c "
import sys
sys.path.insert(0, '/hearth')
from executor_harness import control, program
original, sys.prepared = control.prepare, 0
def prepare(socket, fds, runner):
    sys.prepared += 1
    if sys.prepared == 2:
        control.send(socket, {'type': 'prepare_failed', 'number': 1, 'message': 'late'})
    original(socket, fds, runner)
control.prepare = prepare
sys.exit(program.main([]))
")sh"});
  REQUIRE(sandbox.run("import sys\nemit_result(sys.prepared)").result->text == "1");
  CHECK(sandbox.run("import sys\nemit_result(sys.prepared)").result->text == "2");
}

TEST_CASE("a sandbox in whose network something was sent does not come clean") {
  Sandbox sandbox;
  CHECK(sandbox
            .run("import socket\n"
                 "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                 "s.bind(('127.0.0.1', 0))\n"
                 "s.sendto(b'x', s.getsockname())\n")
            .verdict == Verdict::ok);
  const wire::ResetDone done = sandbox.reset();
  CHECK_FALSE(done.clean);
  CHECK(done.message == "the network was used");
}

TEST_CASE("sockets that end with their processes leave a sandbox clean") {
  Sandbox sandbox;
  CHECK(sandbox
            .run("import asyncio, socket\n"
                 "asyncio.run(asyncio.sleep(0))\n"
                 "pair = socket.socketpair()\n"
                 "listener = socket.socket()\n"
                 "listener.bind(('127.0.0.1', 0))\n"
                 "listener.listen()\n")
            .verdict == Verdict::ok);
  const wire::ResetDone done = sandbox.reset();
  CAPTURE(done.message);
  CHECK(done.clean);
}

// The kernel collects such sockets when it comes to it: some are still there after a reset.
TEST_CASE("a socket in flight inside itself never meets the turn after a reset") {
  for (int round = 0; round < 10; ++round) {
    Sandbox sandbox;
    CHECK(sandbox
              .run(R"py(
import array, socket
for n in range(50):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind("\0left-%d" % n)
    s.connect("\0left-%d" % n)
    s.sendmsg([b"kept"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
)py")
              .verdict == Verdict::ok);
    if (!sandbox.reset().clean) continue;
    CHECK(sandbox.run("print('left-' in open('/proc/net/unix').read())").stdout_text == "False\n");
  }
}
