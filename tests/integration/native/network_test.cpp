// A sandbox's network may have been another's, but only if that one never used it.
#include "os/unique_fd.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

std::string network_of(NativeSandboxes& sandboxes, backend::Sandbox& sandbox) {
  return printed(sandboxes, sandbox, "import os\nprint(os.readlink('/proc/self/ns/net'))");
}

struct Network {
  std::string name;
  os::UniqueFd handle;  // while it is open the kernel gives the name to no other
};

// Runs `script` in a sandbox and destroys it; which network it had.
Network used_network(NativeSandboxes& sandboxes, const std::string& script) {
  const auto sandbox = sandboxes.spawn();
  const std::string path = "/proc/" + std::to_string(init_of(*sandbox)) + "/ns/net";
  Network network{network_of(sandboxes, *sandbox),
                  os::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
  REQUIRE(network.handle);
  printed(sandboxes, *sandbox, script);
  sandbox->kill();
  run_task(sandboxes.loop(), sandbox->exited());
  return network;
}

// Networks of sandboxes that live at the same time, as many as it takes until `wanted` is among
// them: what was given back before it has then been offered, too.
std::vector<std::string> networks_until(NativeSandboxes& sandboxes, const std::string& wanted) {
  std::vector<std::string> networks;
  std::vector<std::unique_ptr<backend::Sandbox>> alive;
  for (int i = 0; i < 50 && (networks.empty() || networks.back() != wanted); ++i) {
    alive.push_back(sandboxes.spawn());
    networks.push_back(network_of(sandboxes, *alive.back()));
  }
  // One more, as the last that came is the first to go.
  alive.push_back(sandboxes.spawn());
  networks.push_back(network_of(sandboxes, *alive.back()));
  return networks;
}

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

const std::string unused = "import asyncio\nasyncio.run(asyncio.sleep(0))";

void check_is_not_given_to_another(const std::string& script) {
  CAPTURE(script);
  NativeSandboxes sandboxes;
  const auto held = sandboxes.spawn();  // so that two networks are needed
  const Network touched = used_network(sandboxes, script);
  std::string untouched;
  {
    // Alive together, so that it has another network; buried later.
    const auto neighbour = sandboxes.spawn();
    untouched = network_of(sandboxes, *neighbour);
    printed(sandboxes, *neighbour, unused);
  }
  REQUIRE(untouched != touched.name);
  const std::vector<std::string> networks = networks_until(sandboxes, untouched);
  CHECK(contains(networks, untouched));
  CHECK_FALSE(contains(networks, touched.name));
}

}  // namespace

TEST_CASE("a network that was never used is given to another sandbox, and works there") {
  NativeSandboxes sandboxes;
  const std::string first = used_network(sandboxes, unused).name;
  CHECK(contains(networks_until(sandboxes, first), first));
  CHECK(printed(sandboxes, R"py(
import socket
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b'hello')
print(client.recv(10).decode())
)py") == "hello\n");
}

TEST_CASE("sandboxes that live at the same time have different networks") {
  NativeSandboxes sandboxes;
  used_network(sandboxes, unused);
  used_network(sandboxes, unused);
  std::vector<std::unique_ptr<backend::Sandbox>> alive;
  std::vector<std::string> networks;
  for (int i = 0; i < 10; ++i) {
    alive.push_back(sandboxes.spawn());
    networks.push_back(network_of(sandboxes, *alive.back()));
  }
  std::sort(networks.begin(), networks.end());
  CHECK(std::unique(networks.begin(), networks.end()) == networks.end());
}

TEST_CASE("a network in which a datagram was sent is not given to another") {
  check_is_not_given_to_another(
      "import socket\n"
      "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))");
}

TEST_CASE("a network in which a connection was refused is not given to another") {
  check_is_not_given_to_another(
      "import socket\n"
      "assert socket.socket().connect_ex(('127.0.0.1', 9)) == 111");
}

TEST_CASE("a network in which only a failed attempt was counted is not given to another") {
  check_is_not_given_to_another(
      "import socket\n"
      "assert socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect_ex(('192.0.2.1', 9)) == "
      "101");
}

TEST_CASE("no flow's label can be held in a network") {
  CHECK(printed(R"py(
import errno, socket, struct
socket6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
# destination, label, action: get, share: exclusive, flags: create, expires, linger
request = struct.pack('=16sIBBHHH4x', socket.inet_pton(socket.AF_INET6, '::1'),
                      socket.htonl(0x12345), 0, 1, 1, 6, 6)
try: socket6.setsockopt(socket.IPPROTO_IPV6, 32, request)
except OSError as error: print(errno.errorcode[error.errno])
)py") == "ENOSYS\n");
}
