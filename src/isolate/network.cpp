#include "isolate/network.h"

#include "isolate/failure.h"

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

// Packets and errors of every protocol and of the interface. Also what an unprivileged process can
// leave without sending a packet: flow labels, and sockets in flight inside each other, which live
// until the kernel collects them.
const char sockets[] = "/proc/self/net/sockstat";
const char* const counters[] = {"/proc/self/net/snmp",          "/proc/self/net/snmp6",
                                "/proc/self/net/netstat",       "/proc/self/net/dev",
                                "/proc/self/net/ip6_flowlabel", sockets};

constexpr std::size_t max_bytes = 16384;
char untouched[max_bytes];
std::size_t untouched_size = 0;  // 0: not known, so no namespace is reused

std::size_t first_line_end(const char* text, std::size_t begin, std::size_t end) {
  const void* newline = std::memchr(text + begin, '\n', end - begin);
  return newline == nullptr ? end
                            : static_cast<std::size_t>(static_cast<const char*>(newline) - text);
}

// Writes all counters of this process's network namespace, one file after the other. 0 if they do
// not fit or cannot be read. A kernel without IPv6 lacks some.
std::size_t read_counters(char* text) {
  std::size_t size = 0;
  for (const char* path : counters) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) continue;
    if (file < 0) return 0;
    ssize_t count = 0;
    const std::size_t begin = size;
    while (size < max_bytes && (count = ::read(file, text + size, max_bytes - size)) > 0)
      size += static_cast<std::size_t>(count);
    ::close(file);
    if (count < 0 || size == max_bytes) return 0;
    // Its first line is about this namespace; the others are about the whole machine.
    if (path == sockets) size = first_line_end(text, begin, size);
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

bool write_setting(const char* path, const char* value) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return fail(path);
  const auto size = static_cast<ssize_t>(std::strlen(value));
  const bool written = ::write(file, value, static_cast<std::size_t>(size)) == size;
  ::close(file);
  return written || fail(path);
}

// The kernel counts TCP connections that no process has open any more for the whole machine, and
// resets those of other programs when there are too many. So here they end within a second, and
// few can wait to be accepted: no cgroup counts these.
bool limit_connections() {
  constexpr const char* waiting = "/proc/sys/net/core/somaxconn";
  // Debian 12's kernel shows net.core to no user namespace: there it stays 4096.
  const bool cannot_be_set = ::access(waiting, F_OK) != 0 && errno == ENOENT;
  return write_setting("/proc/sys/net/ipv4/tcp_orphan_retries", "1") &&
         (cannot_be_set || write_setting(waiting, "128"));
}

}  // namespace

void learn_untouched_network() {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return;
  const int child = ::fork();
  if (child == 0) {
    const bool is_new = ::unshare(CLONE_NEWNET) == 0 && raise_loopback();
    const std::size_t size = is_new ? read_counters(untouched) : 0;
    const bool written = ::write(pipe[1], untouched, size) == static_cast<ssize_t>(size);
    ::_exit(written ? 0 : 1);
  }
  ::close(pipe[1]);
  ssize_t count = 0;
  while (child > 0 &&
         (count = ::read(pipe[0], untouched + untouched_size, max_bytes - untouched_size)) > 0)
    untouched_size += static_cast<std::size_t>(count);
  ::close(pipe[0]);
}

bool enter_network(const HearthSandboxSpec& spec) {
  if (spec.network >= 0 && ::setns(spec.network, CLONE_NEWNET) == 0 && is_untouched()) return true;
  if (::unshare(CLONE_NEWNET) != 0) return fail("create a network namespace");
  return raise_loopback() && limit_connections();
}

}  // namespace hearth::isolate
