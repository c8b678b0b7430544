#include "isolate/requests.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth::isolate {
namespace {

bool send_reply(int control, wire::SpawnReply reply, int pidfd) {
  iovec content{&reply, sizeof reply};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof pidfd)] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (pidfd >= 0) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof pidfd);
    std::memcpy(CMSG_DATA(header), &pidfd, sizeof pidfd);
  }
  return ::sendmsg(control, &message, MSG_NOSIGNAL) >= 0;
}

}  // namespace

bool receive(int control, Request& request) {
  request = {};
  iovec content{&request.values, sizeof request.values};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof request.fds)];
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t size = -1;
  while ((size = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (size > 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    request.fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(std::int32_t);
    std::memcpy(request.fds, CMSG_DATA(header), request.fd_count * sizeof(std::int32_t));
  }
  return size > 0;
}

bool answer(int control, const wire::SpawnRequest& request, int pid) {
  const std::uint64_t number = request.number;
  // A twin exits when its socket is closed, so it needs no pidfd.
  if (pid <= 0 || request.kind == wire::SpawnKind::twin) {
    send_reply(control, {number, pid > 0 ? 0 : errno}, -1);
    return true;
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return false;
  if (!send_reply(control, {number, 0}, pidfd)) {
    // The kernel limits the descriptors of one user in flight. Without root, scripts have the same
    // user. If instead the host has hung up, the next receive says so.
    const int error = errno;
    ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
    send_reply(control, {number, error}, -1);
  }
  ::close(pidfd);
  return true;
}

void fill_in(HearthSandboxSpec& spec, const Request& request) {
  spec.uid = request.values.uid;
  spec.gid = request.values.gid;
  spec.workspace_bytes = request.values.workspace_bytes;
  spec.workspace_inodes = request.values.workspace_inodes;
  spec.scratch_bytes = request.values.scratch_bytes;
  spec.scratch_inodes = request.values.scratch_inodes;
  spec.file_bytes = request.values.file_bytes;
  spec.process_memory_bytes = request.values.process_memory_bytes;
  spec.processes = request.values.processes;
  spec.use_landlock = request.values.use_landlock;
  const std::int32_t* next = request.fds;
  if (request.values.kind == wire::SpawnKind::worker) {
    spec.joined = *next++;
    spec.gate = *next++;
    for (std::int32_t& fd : spec.worker_fds) fd = *next++;
  } else {
    spec.stream = *next++;
    spec.control = *next++;
    spec.network = request.values.has_network != 0 ? *next++ : -1;
  }
  spec.cgroup_fds = next;
  spec.cgroup_count = request.fd_count - static_cast<std::size_t>(next - request.fds);
}

bool is_whole(const Request& request) {
  switch (request.values.kind) {
    case wire::SpawnKind::sandbox:
      return request.fd_count >= (request.values.has_network != 0 ? 3 : 2);
    case wire::SpawnKind::worker:
      return request.fd_count >= 6;
    case wire::SpawnKind::twin:
      return request.fd_count == 1;
  }
  return false;
}

}  // namespace hearth::isolate
