// What a script does to the kernel's counters for its user is its own container's affair.
#include "docker/docker_sandbox.h"
#include "tests/support/any_backend.h"
#include "tests/support/docker_pool.h"

#include <doctest/doctest.h>

#include <set>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

// Sends descriptors until the kernel refuses; they stay in flight while the worker lives.
constexpr const char* fill_flight = R"py(
import array, errno, socket
near, far = socket.socketpair()
sent = 0
try:
    while sent < 4000:
        near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
        sent += 200
except OSError as error:
    print(errno.errorcode[error.errno], sent >= 1000)
)py";

constexpr const char* who_am_i = R"py(
import getpass, grp, os, pwd, subprocess
user = pwd.getpwuid(os.getuid())
whoami = subprocess.run(["whoami"], capture_output=True, text=True).stdout.strip()
print(user.pw_name, user.pw_dir, getpass.getuser(), whoami, grp.getgrgid(os.getgid()).gr_name)
print(pwd.getpwnam("sandbox").pw_uid == os.getuid(), pwd.getpwuid(0).pw_name)
print(os.path.expanduser("~"), os.path.expanduser("~sandbox"), os.getgroups())
)py";

constexpr const char* me =
    "sandbox /workspace sandbox sandbox sandbox\nTrue root\n/workspace /workspace [10001]\n";

}  // namespace

TEST_CASE("B7: each container has a user of its own, whose name is sandbox") {
  DockerBackend backend;
  std::set<std::string> users;
  std::vector<std::unique_ptr<backend::Sandbox>> sandboxes;
  for (int i = 0; i < 3; ++i) {
    sandboxes.push_back(backend.spawn());
    CHECK(backend.run_in(*sandboxes.back(), who_am_i).stdout_text == me);
    users.insert(backend.run_in(*sandboxes.back(), "import os; print(os.getuid())").stdout_text);
  }
  CHECK(users.size() == 3);
  for (const std::string& user : users) CHECK(std::stoul(user) >= 0x78000000);
}

TEST_CASE("B7: under gVisor a container's user has its name, too") {
  DockerBackend backend(docker_config(), {}, "runsc");
  CHECK(backend.run(who_am_i).stdout_text == me);
}

TEST_CASE("a list of users that a script has changed is as before after a reset") {
  DockerBackend backend;
  const auto sandbox = backend.spawn();
  CHECK(backend
            .run_in(*sandbox, R"(
import os
os.unlink("/hearth/user/passwd")
open("/hearth/user/left", "w").write("left")
)")
            .verdict == Verdict::ok);
  CHECK(run_task(backend.loop(), sandbox->channel().reset(std::chrono::seconds(10))).clean);
  CHECK(backend.run_in(*sandbox, who_am_i).stdout_text == me);
  CHECK(backend.run_in(*sandbox, "import os; print(os.listdir('/hearth/user'))").stdout_text ==
        "['passwd']\n");
}

TEST_CASE("descriptors in flight in one container keep no other from starting and running") {
  DockerBackend backend;
  const auto attacker = backend.spawn();
  CHECK(backend.run_in(*attacker, fill_flight, 20, wire::Mode::interactive).stdout_text ==
        "ETOOMANYREFS True\n");
  const auto neighbour = backend.spawn();
  CHECK(backend.run_in(*neighbour, "print('runs')").stdout_text == "runs\n");
  CHECK(backend.run_in(*neighbour, "print('again')").stdout_text == "again\n");
}

TEST_CASE("descriptors in flight do not keep init from giving the next turn a worker") {
  DockerBackend backend;
  const auto sandbox = backend.spawn();
  CHECK(backend.run_in(*sandbox, fill_flight, 20, wire::Mode::interactive).stdout_text ==
        "ETOOMANYREFS True\n");
  // The first takes the worker that is prepared already, if there is one.
  for (int turn = 0; turn < 2; ++turn)
    CHECK(backend.run_in(*sandbox, "print('runs')").stdout_text == "runs\n");
}

TEST_CASE("a script cannot have as many files open as init") {
  DockerBackend backend;
  CHECK(backend.run("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))")
            .stdout_text == "(1024, 1024)\n");
}

TEST_CASE("pipes of one container do not shrink those of another") {
  DockerBackend backend;
  const auto attacker = backend.spawn();
  CHECK(backend
            .run_in(*attacker, R"(
import fcntl, os
pipes = []
try:
    while len(pipes) < 300:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
except OSError as error:
    print(type(error).__name__)
while fcntl.fcntl(pipes[-1][0], fcntl.F_GETPIPE_SZ) > 8192: pipes.append(os.pipe())
)",
                    20, wire::Mode::interactive)
            .stdout_text == "PermissionError\n");
  CHECK(backend
            .run("import fcntl, os\n"
                 "print([fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) for fd in (1, os.pipe()[0])])")
            .stdout_text == "[65536, 65536]\n");
}

TEST_CASE("a container whose network was used serves no second lease") {
  DockerPool pool({docker_config()});
  pool.startup();
  std::string first;
  {
    pool::Lease lease = pool.checkout();
    first = lease.sandbox_id();
    CHECK(pool.turn(lease, R"(
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.sendto(b"x", receiver.getsockname())
)")
              .verdict == Verdict::ok);
  }
  pool.run_until([&] { return pool.stats().idle == 1; });
  CHECK(pool.checkout().sandbox_id() != first);
}

TEST_CASE("a container whose user named no owner serves no second lease") {
  DockerPool pool({docker_config()});
  pool.startup();
  const auto nobodys = [&] { return run_task(pool.loop, pool.pool.checkout("default", {})); };
  const std::string first = nobodys().sandbox_id();
  CHECK(nobodys().sandbox_id() != first);
}
