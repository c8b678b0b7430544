// Memory that the kernel holds for sockets, and counts for no cgroup.
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

std::string logs_of(const execution::ExecutionResult& result) {
  std::string logs;
  for (const wire::Log& log : result.logs) logs += log.message + '\n';
  return logs;
}

}  // namespace

TEST_CASE_TEMPLATE("C4: connections that are never accepted end the script, however many it makes",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto sandbox = backend.spawn();
  const auto result = backend.run_in(*sandbox, R"(
import socket
listeners = []
while True:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    listeners.append(listener)
    for _ in range(100):
        one = socket.socket()
        one.connect(listener.getsockname())
        one.close()
)");
  CHECK(result.verdict == Verdict::memory_limit);
  CHECK(logs_of(result).find("more than 2048 sockets") != std::string::npos);
  CHECK(backend.run_in(*sandbox, "print('next')").stdout_text == "next\n");
}

TEST_CASE_TEMPLATE("C4: sockets of the Internet are bounded, in commands, too", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const auto sandbox = backend.spawn();
  wire::ExecRequest command;
  command.execution_id = "c1";
  command.argv = {"python3", "-c", R"(
import os, socket, time
for _ in range(3):
    if os.fork() == 0:
        held = [socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(900)]
        time.sleep(60)
os.wait()
)"};
  command.timeout_seconds = 30;
  command.max_output_bytes = 1 << 20;
  CHECK(backend.run_in(*sandbox, command).verdict == Verdict::memory_limit);
}

TEST_CASE_TEMPLATE("a script cannot ask for larger receive buffers, and is told nothing of it",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    s = socket.socket(socket.AF_INET, kind)
    before = s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, before * 4)
    print(s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before)
print(open("/proc/sys/net/ipv4/tcp_rmem").read().split())
)");
  INFO(result.stderr_text);
  CHECK(result.stdout_text == "True\nTrue\n['4096', '65536', '131072']\n");
}

// By a control message, which no filter sees. A kernel that has the setting for the whole machine
// only keeps the copy: what bounds them there is the number of sockets and their buffer.
TEST_CASE_TEMPLATE("a script gets no copies of sent packets where the kernel can forbid them",
                   Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const auto result = backend.run(R"(
import os, socket, struct
time_stamping, software = 37, 2
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
s.sendmsg([b"x" * 1000], [(socket.SOL_SOCKET, time_stamping, struct.pack("I", software))], 0, s.getsockname())
print(len(s.recv(2000)))
setting = "/proc/sys/net/core/tstamp_allow_data"
can_forbid = os.path.exists(setting)
try:
    kept = len(s.recvmsg(2000, 1000, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)[0])
except BlockingIOError:
    kept = 0
print((kept == 0) == can_forbid)
)");
  INFO(result.stderr_text);
  CHECK(result.stdout_text == "1000\nTrue\n");
}
