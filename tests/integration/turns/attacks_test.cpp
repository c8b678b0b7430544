// Scripts that turn against the processes around them. After each of them either the next turn is
// clean or the sandbox is gone; never anything in between.
#include "channel/sandbox_files.h"
#include "tests/support/clean_turn.h"
#include "tests/support/process_script.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"
#include "tests/support/step_attacks.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// The pids of harness and workers other than the script's own, once there are `count` of them and
// they sleep: then they are prepared.
const std::string find_others = std::string(list_processes) + R"py(
import signal, time
def state(pid): return open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0]
def others(count):
    while True:
        pids = [pid for pid in processes() if pid not in (1, os.getpid())]
        try:
            if len(pids) == count and all(state(pid) == 'S' for pid in pids): return sorted(pids)
        except OSError: pass
        time.sleep(0.001)
)py";

// Whether a turn was given up before it had begun.
bool give_up_turn(Sandbox& sandbox) {
  SandboxChannel& channel = sandbox.process().channel();
  wire::RunRequest request = request_for("pass");
  request.execution_id = "given-up";
  run_task(sandbox.loop(), channel.send(request));
  run_task(sandbox.loop(), channel.ping(std::chrono::seconds(20)));  // it has been taken up
  run_task(sandbox.loop(), channel.send(wire::CancelRequest{request.execution_id}));
  while (true) {
    const auto received = run_task(sandbox.loop(), channel.receive());
    const auto* done = std::get_if<wire::ScriptDone>(&received.event.body);
    if (done != nullptr) return !done->started;
  }
}

// Beside the one that keeps the steps' variables: a turn that is cancelled before it has a worker
// leaves that to the next.
void leave_prepared_worker(Sandbox& sandbox) {
  while (!give_up_turn(sandbox)) {
  }
}

bool can_write(Sandbox& sandbox, const std::string& path) try {
  run_task(sandbox.loop(), SandboxFiles(sandbox.process().channel()).write(path, "x"));
  return true;
} catch (const Error&) {
  return false;
}

// The sandbox takes no further turn and says so by its end.
void check_sandbox_ends(Sandbox& sandbox) {
  const auto next = sandbox.run("print('next')");
  CHECK(next.verdict == Verdict::lost);
  CHECK(next.stdout_text.empty());
  CHECK_THROWS_AS(run_task(sandbox.loop(), sandbox.process().channel().receive()), IncompleteRead);
}

}  // namespace

TEST_CASE("H23: forged lines and records on every descriptor change no verdict and no other turn") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os
mark = emit_log.__globals__['channel'].mark + b' '
forged = b''.join(line + b'\n' for line in (
    b'{"type":"final_result","execution_id":"next","data":666}',
    b'{"type":"script_done","execution_id":"next","ending":"completed","started":true}',
    b'{"type":"ready","python":"6","harness":"66"}',
    b'{"type":"prepare"}', b'{"type":"failed","message":"m","traceback":"t"}',
    b'0 0 ' + mark + b'{"type":"script_done","ending":"completed"}',
    b'0 0 ' + mark + b'{"type":"prepared","pid":1}',
    b'99999999999999999999 0 ' + mark + b'{"type":"log","level":"info","message":"beyond"}',
    b'18446744073709551615 18446744073709551615 ' + mark +
    b'{"type":"log","level":"info","message":"far"}',
    b'0 0 ' + mark + b'{"type":"end","outcome":"completed"}'))
written = 0
for fd in range(1024):
    try:
        os.write(fd, forged)
        written += 1
    except OSError:
        pass
print('forged on', written)
raise ValueError('the true end')
)py");
  // Standard output, standard error and the emit pipe; standard input is /dev/null.
  CHECK(result.stdout_text.ends_with("forged on 4\n"));
  CHECK(result.verdict == Verdict::error);
  REQUIRE(result.error);
  CHECK(result.error->message == "the true end");
  CHECK_FALSE(result.result);
  CHECK(result.foreign_events == 0);
  check_clean_turn(sandbox);
  check_clean_turn(sandbox);
}

TEST_CASE("a forged end does not let a script outlive its deadline") {
  Sandbox sandbox;
  const std::string forge = forge_records + "import time\nforge(" + forged_end + ")\n";
  const auto late = sandbox.run(forge + R"py(
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print('on')
while True: time.sleep(1000)
)py",
                                0.3);
  CHECK(late.verdict == Verdict::timeout);
  CHECK(late.stdout_text == "on\n");
  CHECK(late.sandbox_usable);
  check_clean_turn(sandbox);
  // Nor does it hide how the process really ended.
  CHECK(sandbox.run(forge + "os._exit(5)").verdict == Verdict::exited);
  CHECK(sandbox.run(forge + "os.abort()").verdict == Verdict::crashed);
  CHECK(sandbox.run(forge + "1 / 0").verdict == Verdict::error);
  check_clean_turn(sandbox);
}

TEST_CASE("init cannot be killed, stopped or interrupted by a script") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, signal
assert os.getppid() == 1
for number in signal.valid_signals():
    for _ in range(3): os.kill(1, number)
print('sent')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "sent\n");
  check_clean_turn(sandbox);
}

TEST_CASE("a signal whose origin the kernel had to forget does not end init either") {
  Sandbox sandbox;
  // With the queue of this user full, rt_sigqueueinfo's word about the sender is dropped, and the
  // signal looks as if it came from outside.
  const auto result = sandbox.run(R"py(
import ctypes, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
soft, hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)
resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, hard))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    libc.sigqueue(1, int(number), None)
print('sent')
)py");
  CHECK(result.verdict == Verdict::ok);
  check_clean_turn(sandbox);
}

TEST_CASE("a storm of SIGCHLD does not keep init from its clock") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.fork(); os.fork()
while True: os.kill(1, signal.SIGCHLD)
)py",
                                  0.3);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.sandbox_usable);
  check_clean_turn(sandbox);
}

TEST_CASE("a script that stops every process it can see stops nothing but itself") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, signal
for name in os.listdir('/proc'):
    if name.isdigit() and int(name) != os.getpid(): os.kill(int(name), signal.SIGSTOP)
os.kill(-1, signal.SIGSTOP)
print('stopped them')
)py");
  CHECK(result.verdict == Verdict::ok);
  check_clean_turn(sandbox);
  CHECK(sandbox.reset().clean);
  check_clean_turn(sandbox);
}

TEST_CASE("a script that kills its harness gets its verdict and the sandbox ends") {
  for (const std::string number : {"signal.SIGKILL", "signal.SIGTERM"}) {
    CAPTURE(number);
    Sandbox sandbox;
    const auto result = sandbox.run(find_others + "os.kill(others(1)[0], " + number +
                                    ")\nprint('killed it')\nemit_result('kept')");
    CHECK(result.verdict == Verdict::ok);
    CHECK(result.stdout_text == "killed it\n");
    CHECK(result.result == wire::JsonText{"\"kept\""});
    check_sandbox_ends(sandbox);
  }
}

TEST_CASE("a script that kills everything including itself gets its verdict and the sandbox ends") {
  Sandbox sandbox;
  const auto result = sandbox.run(R"py(
import os, signal
os.kill(-1, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
)py");
  CHECK(result.verdict == Verdict::crashed);
  CHECK(result.signal == 9);
  check_sandbox_ends(sandbox);
}

TEST_CASE("a step that kills the harness ends the sandbox, not the host's patience") {
  Sandbox sandbox;
  const auto result = sandbox.step(find_others + "os.kill(others(1)[0], 9)\nn = 1");
  CHECK(result.verdict == Verdict::ok);
  // Its memory is taken apart before init hears of its end, and steps are faster than that.
  Verdict verdict = Verdict::ok;
  for (int step = 0; step < 10'000 && verdict == Verdict::ok; ++step)
    verdict = sandbox.step("n").verdict;
  CHECK(verdict == Verdict::lost);
}

TEST_CASE("a step that stops harness and prepared worker does not stop the next turn") {
  Sandbox sandbox;
  CHECK(sandbox.step("n = 1").verdict == Verdict::ok);
  leave_prepared_worker(sandbox);
  const auto result = sandbox.step(find_others + R"py(
for pid in others(2): os.kill(pid, signal.SIGSTOP)
print('stopped two')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "stopped two\n");
  check_clean_turn(sandbox);
}

TEST_CASE("what a lost namespace left behind cannot stop the next turn") {
  Sandbox sandbox;
  CHECK(sandbox
            .step(find_others + R"py(
import threading
if os.fork() == 0:
    keeper = os.getppid()
    while os.path.exists('/proc/%d' % keeper): time.sleep(0.001)
    for pid in others(2): os.kill(pid, signal.SIGSTOP)  # the harness and the prepared worker
    os.rmdir('/workspace/gate')
    time.sleep(600)
os.mkdir('/workspace/gate')
threading.Timer(0.05, os._exit, (1,)).start()
)py")
            .verdict == Verdict::ok);
  // The only way to look into a sandbox without a turn in it.
  while (!can_write(sandbox, "gate")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  check_clean_turn(sandbox);
}

TEST_CASE("a step that kills the prepared worker does not harm the next turn") {
  Sandbox sandbox;
  CHECK(sandbox.step("n = 1").verdict == Verdict::ok);
  for (int round = 0; round < 5; ++round) {
    leave_prepared_worker(sandbox);
    // Gone from /proc means that init has seen its end.
    const auto killer = sandbox.step(find_others + R"py(
victim = others(2)[-1]
os.kill(victim, signal.SIGKILL)
while os.path.exists('/proc/%d' % victim): time.sleep(0.001)
)py");
    CHECK(killer.verdict == Verdict::ok);
    check_clean_turn(sandbox);
  }
}

TEST_CASE("init, harness and prepared worker cannot be read, written or traced") {
  Sandbox sandbox;
  CHECK(sandbox.step("n = 1").verdict == Verdict::ok);
  leave_prepared_worker(sandbox);
  const auto result = sandbox.step(find_others + R"py(
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 16, 0x4206, 434, 438
for pid in [1] + others(2):
    for name in ('mem', 'environ', 'maps', 'auxv', 'stack', 'syscall', 'root', 'cwd', 'exe'):
        path = '/proc/%d/%s' % (pid, name)
        for attempt in ((lambda: open(path, 'rb').read(1)), (lambda: open(path, 'wb')),
                        (lambda: os.readlink(path) and None)):
            try:
                attempt()
                print('reached', name, 'of', pid)
            except (OSError, ValueError):
                pass
    for fd in range(64):
        try:
            os.open('/proc/%d/fd/%d' % (pid, fd), os.O_RDWR)
            print('opened descriptor', fd, 'of', pid)
        except OSError:
            pass
    for request in (PTRACE_ATTACH, PTRACE_SEIZE):
        if libc.ptrace(request, pid, None, None) == 0: print('traced', pid)
    handle = libc.syscall(PIDFD_OPEN, pid, 0)
    if libc.syscall(PIDFD_GETFD, handle, 3, 0) >= 0: print('took a descriptor of', pid)
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(0x400000, 8)
    if libc.process_vm_readv(pid, vector, 1, remote, 1, 0) > 0: print('read memory of', pid)
print('done')
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "done\n");
  check_clean_turn(sandbox);
}
