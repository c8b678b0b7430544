// The zygote's loop: a request, a new process, an answer.
#include "isolate/isolate.h"
#include "isolate/steps.h"
#include "wire/spawn_request.h"

#include <sched.h>
#include <signal.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace hearth::isolate {
namespace {

// Where libc lets the kernel write on which processor a thread runs. A process that shares
// another's memory has no such place, nor have those it forks, but libc would go on reading there.
// Others have theirs already.
void remember_processor_number() {
  if (__rseq_size == 0) return;
  constexpr std::uint32_t smallest_area = 32;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  const std::uint32_t size = __rseq_size < smallest_area ? smallest_area : __rseq_size;
  // If it fails, libc has to know: it then asks the kernel each time.
  constexpr std::uint32_t registration_failed = -2;
  if (::syscall(SYS_rseq, area, size, 0, RSEQ_SIG) != 0 && errno != EBUSY)
    reinterpret_cast<struct rseq*>(area)->cpu_id = registration_failed;
}

volatile std::sig_atomic_t somebody_ended = 1;
void note_end(int /*signal*/) { somebody_ended = 1; }

// Until `forget_ended`, the number of a sandbox that could not be isolated stays its own.
void keep_ended() {
  somebody_ended = 0;
  ::signal(SIGCHLD, note_end);
}

// Who was sent into sandboxes and may not be forgotten yet. A sandbox cannot end before they are.
constexpr std::size_t most_newcomers = 64;
int newcomers[most_newcomers];
std::size_t newcomer_count = 0;

void remember_newcomer(int pid) {
  if (newcomer_count < most_newcomers) newcomers[newcomer_count++] = pid;
}

// By their numbers: the signal of one that ends right now may be lost with its handler.
void forget_newcomers() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < newcomer_count; ++i)
    if (::waitpid(newcomers[i], nullptr, WNOHANG) == 0) newcomers[kept++] = newcomers[i];
  newcomer_count = kept;
}

// The kernel looks at every child to find those that have ended, and there may be thousands.
void forget_ended() {
  const bool may_have_lost_one = newcomer_count == most_newcomers;
  ::signal(SIGCHLD, SIG_IGN);
  while ((somebody_ended != 0 || may_have_lost_one) && ::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  forget_newcomers();
}

constexpr std::size_t descriptor_space =
    CMSG_SPACE(wire::max_spawn_descriptors * sizeof(std::int32_t));

struct Request {
  wire::SpawnRequest values;
  std::int32_t fds[wire::max_spawn_descriptors];
  std::size_t fd_count;
};

// False when the host is gone.
bool receive(int control, Request& request) {
  request = {};
  iovec content{&request.values, sizeof request.values};
  alignas(cmsghdr) char space[descriptor_space];
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

// False if there is a process now that nobody could hold.
bool answer(int control, const wire::SpawnRequest& request, int pid) {
  const std::uint64_t number = request.number;
  // A twin ends when its socket is closed, so nobody has to hold it.
  if (pid <= 0 || request.kind == wire::SpawnKind::twin) {
    send_reply(control, {number, pid > 0 ? 0 : errno}, -1);
    return true;
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return false;
  if (!send_reply(control, {number, 0}, pidfd)) {
    // The kernel limits how many descriptors of one user are on their way, and in a machine without
    // root scripts are that user, too. If the host is gone instead, the next receive says so.
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

// Descriptors may be lost on the way if the zygote has no room for them.
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

// Asked each time: a library's fork handlers may start some.
bool is_only_thread() {
  constexpr nlink_t links_without_threads = 2;
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == links_without_threads + 1;
}

// The number of the new process, -1 if there is none, 0 in it.
int spawn_twin(const HearthSandboxSpec& spec) {
  if (!is_only_thread()) {
    // What one of them may hold in this moment, the twin and all its sandboxes would never get.
    errno = ENOTSUP;
    return -1;
  }
  // Where the last sandbox's processes are would be forked into otherwise.
  if (::setns(spec.own_pid_namespace, CLONE_NEWPID) != 0) return -1;
  return ::fork();
}

// Takes as long as several sandboxes, so it is left to zygotes that make many, and done before
// there are twins, who then share it.
constexpr std::size_t few = 8;
void settle(const HearthSandboxSpec& spec, bool& is_settled) {
  if (is_settled) return;
  is_settled = true;
  put_code_into_large_pages(reinterpret_cast<const void*>(spec.after_fork));
  if (is_only_thread()) put_data_into_large_pages();
}

// Nobody but the other zygote hears what is said there.
void take_over(std::int32_t& control, const Request& request) {
  ::close(control);
  control = request.fds[0];
}

}  // namespace
}  // namespace hearth::isolate

using namespace hearth::isolate;
using hearth::wire::SpawnKind;

extern "C" __attribute__((visibility("default"))) int hearth_serve(std::int32_t control,
                                                                   HearthSandboxSpec* spec) {
  // Whoever ends is nobody's business here: the host holds a pidfd.
  forget_ended();
  learn_untouched_network();
  bool is_settled = false;
  std::size_t answered = 0;
  Request request;
  NewWorker worker{};
  while (receive(control, request)) {
    keep_ended();
    errno = EPROTO;
    int pid = -1;
    if (is_whole(request) && request.values.kind == SpawnKind::twin) {
      settle(*spec, is_settled);
      pid = spawn_twin(*spec);
      if (pid == 0) {
        take_over(control, request);
        forget_ended();
        continue;
      }
    } else if (is_whole(request)) {
      fill_in(*spec, request);
      pid = request.values.kind == SpawnKind::worker ? spawn_later_worker(*spec, worker)
                                                     : spawn_sandbox(*spec, worker);
      if (pid == 0) {
        remember_processor_number();
        // Here and not in Python, where a thread of a tool that wants the lock stops it before.
        spec->after_fork();
        return start_worker(worker) ? 1 : 0;
      }
    }
    if (request.values.kind == SpawnKind::worker && pid > 0) remember_newcomer(pid);
    // Everything in this pid namespace ends with its first process, and that with its host's
    // socket.
    if (!answer(control, request.values, pid)) return -1;
    forget_ended();
    for (std::size_t i = 0; i < request.fd_count; ++i) ::close(request.fds[i]);
    if (++answered == few) settle(*spec, is_settled);
  }
  return -1;
}
