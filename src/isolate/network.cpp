// The sandbox's own network: a loopback interface and nothing else. The kernel needs a millisecond
// to make a network namespace and several to forget it, so that of a sandbox which never used it
// goes to another. It is taken only if its counters, which no process in a sandbox can set back,
// are those of a new one: then no packet was ever sent in it, and there is nothing that could have
// stayed.
#include "isolate/steps.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth::isolate {
namespace {

// Packets and errors of every protocol, of the interface, and the only thing a process without
// rights can leave for later without sending any: labels of flows.
const char* const counters[] = {"/proc/self/net/snmp", "/proc/self/net/snmp6",
                                "/proc/self/net/netstat", "/proc/self/net/dev",
                                "/proc/self/net/ip6_flowlabel"};

constexpr std::size_t max_bytes = 16384;
char untouched[max_bytes];
std::size_t untouched_size = 0;  // 0: not known, so none is ever taken for untouched

// All counters of the network this process is in, one after the other; 0 if they do not fit or
// cannot be read. A kernel without IPv6 lacks some.
std::size_t read_counters(char* text) {
  std::size_t size = 0;
  for (const char* path : counters) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) continue;
    if (file < 0) return 0;
    ssize_t count = 0;
    while (size < max_bytes && (count = ::read(file, text + size, max_bytes - size)) > 0)
      size += static_cast<std::size_t>(count);
    ::close(file);
    if (count < 0 || size == max_bytes) return 0;
  }
  return size;
}

bool is_untouched() {
  char text[max_bytes];
  const std::size_t size = read_counters(text);
  return size > 0 && size == untouched_size && std::memcmp(text, untouched, size) == 0;
}

bool raise_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail("open a socket");
  ifreq loopback{};
  loopback.ifr_name[0] = 'l';
  loopback.ifr_name[1] = 'o';
  loopback.ifr_flags = IFF_UP;
  const bool raised = ::ioctl(socket, SIOCSIFFLAGS, &loopback) == 0;
  ::close(socket);
  return raised || fail("raise the loopback interface");
}

}  // namespace

void learn_untouched_network() {
  if (raise_loopback()) untouched_size = read_counters(untouched);
}

bool enter_network(const HearthSandboxSpec& spec) {
  if (spec.network >= 0 && ::setns(spec.network, CLONE_NEWNET) == 0 && is_untouched()) return true;
  if (::unshare(CLONE_NEWNET) != 0) return fail("create a network namespace");
  return raise_loopback();
}

}  // namespace hearth::isolate
