// Scripts that want all of the machine. Each gets the right verdict while a neighbour goes on.
#include "tests/support/in_sandbox.h"
#include "tests/support/system_call_cases.h"

#include <boost/asio/co_spawn.hpp>

#include <exception>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// The attacker's turn, with a neighbour that takes one turn after the other until it is over.
class Attack {
 public:
  explicit Attack(blueprint::SandboxConfig config = {}) : sandboxes_(std::move(config)) {}

  execution::ExecutionResult run(const std::string& script, double timeout_seconds = 60) {
    if (!attacker_) attacker_ = sandboxes_.spawn();
    if (!neighbour_) neighbour_ = sandboxes_.spawn();
    bool over = false;
    std::exception_ptr failure;
    bool neighbour_ended = false;
    asio::co_spawn(sandboxes_.loop(), live_beside(over), [&](std::exception_ptr error) {
      failure = error;
      neighbour_ended = true;
    });
    auto result = sandboxes_.run_in(*attacker_, script, timeout_seconds);
    over = true;
    while (!neighbour_ended) sandboxes_.loop().run_one();
    if (failure) std::rethrow_exception(failure);
    return result;
  }

  NativeSandboxes& sandboxes() { return sandboxes_; }
  backend::Sandbox& attacker() { return *attacker_; }

 private:
  Task<> live_beside(const bool& over) {
    execution::ScriptExecutor executor(*neighbour_);
    do {
      wire::RunRequest request;
      request.script = R"py(
import os, threading
open('own', 'a').write('x' * 100_000)
worker = threading.Thread(target=lambda: None)
worker.start()
worker.join()
if os.fork() == 0: os._exit(0)
os.wait()
os.remove('own')
print(sum(range(100_000)))
)py";
      request.timeout_seconds = 60;
      const auto result = co_await executor.run(std::move(request));
      INFO("detail: ", result.detail, result.stderr_text);
      CHECK(execution::name_of(result.verdict) == "ok");
      CHECK(result.stdout_text == "4999950000\n");
    } while (!over);
  }

  NativeSandboxes sandboxes_;
  std::unique_ptr<backend::Sandbox> attacker_;
  std::unique_ptr<backend::Sandbox> neighbour_;
};

blueprint::SandboxConfig with_memory(int megabytes, int workspace_megabytes = 64) {
  blueprint::SandboxConfig config;
  config.resource_limits.memory_mb = megabytes;
  config.scratch_size_mb = workspace_megabytes;
  return config;
}

}  // namespace

TEST_CASE("C6: a fork bomb stops at the limit of processes and at its time") {
  Attack attack;
  const auto result = attack.run(R"py(
import os
while True:
    try: os.fork()
    except OSError: pass
)py",
                                 1);
  CHECK(result.verdict == Verdict::timeout);
}

TEST_CASE("C6: a script can have as many processes as it was promised and no more") {
  blueprint::SandboxConfig config;
  config.resource_limits.pids_limit = 20;
  Attack attack(config);
  const auto result = attack.run(R"py(
import errno, os, signal
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0: signal.pause()
        children.append(pid)
except OSError as error: print(len(children) + 1, errno.errorcode[error.errno])
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
)py");
  CHECK(result.verdict == Verdict::ok);
  // One more: the place of the process between two forks is free while a script runs.
  CHECK(result.stdout_text == "21 EAGAIN\n");
}

TEST_CASE("C6: threads count as processes do") {
  Attack attack;
  const auto result = attack.run(R"py(
import threading
release = threading.Event()
threads = []
try:
    while True:
        thread = threading.Thread(target=release.wait)
        thread.start()
        threads.append(thread)
except RuntimeError as error: print(len(threads) + 1, error)
release.set()
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "65 can't start new thread\n");
}

TEST_CASE("C4: memory beyond the limit ends a script, and its verdict says so") {
  Attack attack(with_memory(64));
  const auto result = attack.run("x = bytearray(1 << 30)");
  CHECK(execution::name_of(result.verdict) == "memory_limit");
  CHECK(attack.attacker().memory_limit_hit());
}

TEST_CASE("C4: memory taken in small pieces ends a script, too") {
  Attack attack(with_memory(64));
  CHECK(
      execution::name_of(attack.run("xs = []\nwhile True: xs.append(list(range(1000)))").verdict) ==
      "memory_limit");
}

TEST_CASE("memory a child takes is the sandbox's") {
  Attack attack(with_memory(64));
  const auto result = attack.run(R"py(
import os
pid = os.fork()
if pid == 0:
    x = bytearray(1 << 30)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
)py");
  // The kernel takes the largest; the script may live to see it.
  if (result.verdict == Verdict::ok)
    CHECK(result.stdout_text == "9\n");
  else
    CHECK(execution::name_of(result.verdict) == "memory_limit");
  CHECK(attack.attacker().memory_limit_hit());
}

TEST_CASE("files in memory are the sandbox's memory") {
  for (const std::string directory : {"/workspace", "/dev/shm", "/tmp"}) {
    CAPTURE(directory);
    Attack attack(with_memory(48, 512));
    const auto result = attack.run("import os\nfile = open('" + directory + R"py(/big', 'wb', 0)
while True: file.write(bytes(1 << 20))
)py");
    CHECK(execution::name_of(result.verdict) == "memory_limit");
    CHECK(attack.attacker().memory_limit_hit());
  }
}

TEST_CASE("memory of the kernel is the sandbox's: pipes, shared memory, semaphores") {
  Attack attack(with_memory(48));
  const auto pipes = attack.run(R"py(
import os, fcntl
ends = []
try:
    while True:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        ends += [reader, writer]
        try: fcntl.fcntl(writer, 1031, 1 << 20)
        except OSError: pass
        try:
            while True: os.write(writer, bytes(1 << 16))
        except BlockingIOError: pass
except OSError as error: print(error.strerror)
)py");
  CHECK((pipes.verdict == Verdict::memory_limit || pipes.stdout_text == "Too many open files\n"));
  Attack other(with_memory(48));
  const auto shared = other.run(R"py(
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
while True:
    segment = libc.shmget(0, 1 << 24, 0o1600)
    address = libc.shmat(segment, None, 0)
    ctypes.memset(address, 1, 1 << 24)
)py");
  CHECK(execution::name_of(shared.verdict) == "memory_limit");
}

TEST_CASE("what sockets hold unread stays below the memory limit") {
  Attack attack(with_memory(48));
  const auto result = attack.run("most = 48 << 20\n" + fill_sockets, 600);
  INFO(execution::name_of(result.verdict), ": ", result.stdout_text, result.detail);
  // Cgroups of version 2 count it as memory.
  CHECK((result.verdict == Verdict::memory_limit || result.stdout_text == "True True\n"));
}

TEST_CASE("C19: a full workspace is an error of the script that fills it") {
  Attack attack(with_memory(256, 8));
  const auto result = attack.run(R"py(
import errno, os
written = 0
try:
    with open('/workspace/big', 'wb', 0) as file:
        while True: written += file.write(bytes(1 << 16))
except OSError as error: print(written, errno.errorcode[error.errno])
os.remove('/workspace/big')
made = 0
try:
    while True:
        open('/workspace/%d' % made, 'w').close()
        made += 1
except OSError as error: print(made, errno.errorcode[error.errno])
)py");
  CHECK(result.verdict == Verdict::ok);
  // The directory itself is an inode, too.
  CHECK(result.stdout_text == "8388608 ENOSPC\n2047 ENOSPC\n");
}

TEST_CASE("/tmp and /dev/shm are full at some point, in bytes and in files") {
  Attack attack;
  const auto result = attack.run(R"py(
import errno, os
for directory in ('/tmp', '/dev/shm'):
    written = made = 0
    try:
        with open(directory + '/big', 'wb', 0) as file:
            while True: written += file.write(bytes(1 << 20))
    except OSError as error: print(written >> 20, errno.errorcode[error.errno])
    os.remove(directory + '/big')
    try:
        while True:
            os.mkdir('%s/%d' % (directory, made))
            made += 1
    except OSError as error: print(made, errno.errorcode[error.errno])
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "64 ENOSPC\n16383 ENOSPC\n64 ENOSPC\n16383 ENOSPC\n");
}

TEST_CASE("descriptors end at 1024") {
  Attack attack;
  const auto result = attack.run(R"py(
import errno, os
opened = 0
try:
    while True:
        os.open('/dev/null', os.O_RDONLY)
        opened += 1
except OSError as error: print(opened, errno.errorcode[error.errno])
)py");
  CHECK(result.verdict == Verdict::ok);
  CHECK(result.stdout_text == "1019 EMFILE\n");
}

TEST_CASE("output without an end is cut off and said to be") {
  Attack attack;
  const auto result = attack.run("while True: print('x' * 1000)");
  CHECK(result.verdict == Verdict::output_limit);
  CHECK(result.stdout_text.size() <= (std::size_t{2} << 20));
}

TEST_CASE("a busy loop ends with its time, however deaf it is") {
  Attack attack;
  CHECK(attack.run("while True: pass", 0.5).verdict == Verdict::timeout);
  CHECK(attack
            .run(R"py(
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    try:
        while True: pass
    except BaseException: pass
)py",
                 0.5)
            .verdict == Verdict::timeout);
}

TEST_CASE("after an attack the sandbox goes on or is not called usable") {
  for (const std::string script :
       {"import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        "x = bytearray(1 << 30)", "while True: print('x' * 1000)",
        "import os\nwhile True: os.open('/dev/null', 0)"}) {
    CAPTURE(script);
    Attack attack(with_memory(64));
    const auto result = attack.run(script, 1);
    CHECK(result.verdict != Verdict::ok);
    if (!result.sandbox_usable) continue;
    const auto next = attack.run("print('clean')");
    CHECK(execution::name_of(next.verdict) == "ok");
    CHECK(next.stdout_text == "clean\n");
  }
}
