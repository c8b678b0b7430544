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

// Debian 12's kernel shows net.core to no user namespace, and older kernels have some settings for
// the whole machine only. There they stay as they are.
bool write_setting_if_there(const char* path, const char* value) {
  const bool is_missing = ::access(path, F_OK) != 0 && errno == ENOENT;
  return is_missing || write_setting(path, value);
}

// The kernel counts TCP connections that no process has open any more for the whole machine, and
// resets those of other programs when there are too many. So here they end within seconds, and
// few can wait to be accepted: no cgroup counts these. What one of them holds is bounded, too, as
// is the packet that the kernel takes on every connection beyond the limit of a cgroup.
bool limit_connections() {
  // While the other end has no room but answers, only the longest wait between retries ends one.
  return write_setting("/proc/sys/net/ipv4/tcp_orphan_retries", "1") &&
         write_setting_if_there("/proc/sys/net/ipv4/tcp_rto_max_ms", "1000") &&
         write_setting("/proc/sys/net/ipv4/tcp_rmem", "4096 65536 131072") &&
         write_setting_if_there("/proc/sys/net/core/somaxconn", "128");
}

// A control message asks for a copy of a packet in the socket's error queue, which nothing counts,
// and no filter sees it.
bool forbid_copies_of_packets() {
  return write_setting_if_there("/proc/sys/net/core/tstamp_allow_data", "0");
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
  return raise_loopback() && limit_connections() && forbid_copies_of_packets();
}

}  // namespace hearth::isolate
