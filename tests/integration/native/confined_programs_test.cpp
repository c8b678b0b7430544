// What a confined program can do, seen from inside and from here. As root, or as an ordinary user.
#include "native/confined_programs.h"

#include "base/error.h"
#include "builder/find_python.h"
#include "os/durable_files.h"
#include "os/read_file.h"
#include "tests/support/fifo.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <string>

using namespace hearth;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Confined {
  explicit Confined(const native::ConfinedLimits& limits = {})
      : programs(backend::find_programs(), limits) {
    os::make_directory(room(), 0700);
    os::make_directory(shown(), 0755);
    programs.give(room());
  }
  fs::path room() const { return root.path() / "room"; }
  fs::path shown() const { return root.path() / "shown"; }

  os::ProgramResult run(const std::string& script, bool has_network = false,
                        std::chrono::milliseconds timeout = 60s) const {
    static const std::string python =
        builder::find_python("3", builder::usual_python_directories()).executable;
    return programs.run({.program = python,
                         .arguments = {"-I", "-c", script, shown()},
                         .timeout = timeout,
                         .environment = std::vector<std::string>{"PATH=/usr/bin:/bin"},
                         .errors_to_output = true},
                        {.writable = room(), .shown = {shown()}, .has_network = has_network});
  }
  std::string output(const std::string& script) const {
    const os::ProgramResult result = run(script);
    INFO(result.output);
    CHECK(result.succeeded());
    return result.output;
  }

  test::TemporaryDirectory root;
  native::ConfinedPrograms programs;
};

}  // namespace

TEST_CASE("a confined program is an unprivileged user without rights, under the filter") {
  const Confined confined;
  CHECK(confined.output(R"(
import os
print(os.getuid(), os.getgid(), os.getgroups())
for line in open("/proc/self/status"):
    if line.split(":")[0] in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
        print(*line.split())
)") == "1000 1000 []\nCapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
       "CapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\n"
       "NoNewPrivs: 1\nSeccomp: 2\n");
}

TEST_CASE("as root, a confined program is a user outside that owns nothing else") {
  if (::geteuid() != 0) return;
  const Confined confined;
  confined.output("open('/hearth/build/mine', 'w')");
  struct stat facts{};
  REQUIRE(::stat((confined.room() / "mine").c_str(), &facts) == 0);
  CHECK(facts.st_uid >= 65536);
  CHECK(facts.st_gid == facts.st_uid);
}

TEST_CASE("a confined program reads what is shown, and no private file in it") {
  const Confined confined;
  os::write_new_file(confined.shown() / "open", "for all\n", 0644);
  os::write_new_file(confined.shown() / "private", "hush", ::geteuid() == 0 ? 0600 : 0000);
  CHECK(confined.output(R"(
import os, sys
print(open(sys.argv[1] + "/open").read(), end="")
try:
    print(open(sys.argv[1] + "/private").read())
except PermissionError:
    print("refused")
)") == "for all\nrefused\n");
}

TEST_CASE("a confined program sees neither the host's files nor its processes") {
  const Confined confined;
  CHECK(confined.output(R"(
import os
seen = [path for path in ("/home", "/var", "/run", "/etc/shadow", "/sys", "/boot") if os.path.exists(path)]
print(seen, [pid for pid in os.listdir("/proc") if pid.isdigit()])
)") == "[] ['1']\n");
}

TEST_CASE("a confined program writes in its directory and in memory, nowhere else") {
  const Confined confined;
  CHECK(confined.output(R"(
import os, sys
for path in ("/hearth/build", "/tmp", "/dev/shm", "/", "/usr", "/etc", "/hearth", "/proc", sys.argv[1], "/dev"):
    try:
        open(path + "/written", "w").close()
        print(path)
    except OSError:
        pass
)") == "/hearth/build\n/tmp\n/dev/shm\n");
  CHECK(fs::exists(confined.room() / "written"));
  CHECK_FALSE(fs::exists("/tmp/written"));
}

TEST_CASE("what a confined program left running is gone when it has ended") {
  const Confined confined;
  const test::Fifo fifo(confined.shown() / "fifo");
  confined.output(R"(
import os, sys, time
mine, its = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.open(sys.argv[1] + "/fifo", os.O_WRONLY)
        os.write(its, b"x")
        time.sleep(1000)
    os._exit(0)
os.read(mine, 1)
)");
  CHECK(fifo.has_no_writer());
}

TEST_CASE("a confined program that does not end is ended when its time is over") {
  const Confined confined;
  const test::Fifo fifo(confined.shown() / "fifo");
  const os::ProgramResult result = confined.run(
      "import os, sys, time; os.open(sys.argv[1] + '/fifo', os.O_WRONLY); time.sleep(1000)", false,
      2s);
  CHECK(result.timed_out);
  CHECK(fifo.loses_its_writer());
}

TEST_CASE("of confined programs that want more memory than all may have, one is ended") {
  const Confined confined({.memory_mb = 128});
  const os::ProgramResult result = confined.run(R"(
import os
for _ in range(4):
    if os.fork() == 0:
        kept = bytearray(100 << 20)
        for at in range(0, len(kept), 4096): kept[at] = 1
        os.read(os.pipe()[0], 1)
os.wait()
)",
                                                false, 60s);
  CHECK(confined.programs.memory_limit_hit());
}

TEST_CASE("confined programs cannot be more than may be") {
  const Confined confined({.processes = 20});
  CHECK(confined.output(R"(
import os, signal
count = 0
try:
    while count < 100:
        if os.fork() == 0: signal.pause()
        count += 1
except BlockingIOError:
    print(count < 20)
)") == "True\n");
}

TEST_CASE("a confined program has the host's network only where it was given to it") {
  const os::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), generic, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), generic, &size) == 0);
  const Confined confined;
  const std::string script = "import socket; socket.create_connection(('127.0.0.1', " +
                             std::to_string(::ntohs(address.sin_port)) + "))";
  CHECK(confined.run(script, true).succeeded());
  CHECK_FALSE(confined.run(script, false).succeeded());
}

TEST_CASE("a confined program with the host's network reaches no Unix socket there") {
  const Confined confined;
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "hearth-test-" + std::to_string(::getpid());
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  const os::ProgramResult result = confined.run("name = '" + name + "'" + R"(
import socket
one, other = socket.socketpair()
one.send(b"pair")
print(other.recv(9))
try:
    socket.socket(socket.AF_UNIX).connect("\0" + name)
    print("connected")
except OSError as error: print(error.strerror)
)",
                                                true);
  ::close(listener);
  CHECK(result.output == "b'pair'\nOperation not permitted\n");
}

TEST_CASE("a compiler works in a confined program") {
  if (!fs::exists("/usr/bin/gcc") || !fs::exists("/usr/bin/make")) {
    MESSAGE("not tested: there is no compiler");
    return;
  }
  const Confined confined;
  CHECK(confined.output(R"(
import os, subprocess
os.chdir("/hearth/build")
open("x.c", "w").write('#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n')
open("Makefile", "w").write("x: x.c\n\tgcc -O2 -pipe -o x x.c\n")
os.environ["TMPDIR"] = "/hearth/build"
subprocess.run(["make", "-s", "-j2"], check=True)
print(subprocess.run(["./x"], capture_output=True, text=True).stdout, end="")
)") == "compiled\n");
}
