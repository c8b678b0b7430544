#include "isolate/isolate.h"

#include "isolate/steps.h"
#include "wire/spawn_request.h"

#include <fcntl.h>
#include <poll.h>
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
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace hearth::isolate {
namespace {

const char* failed_step = "";

// Our ends and the others' of what connects init with harness and worker.
struct Connections {
  int control[2];  // init, harness
  int out[2];      // init reads [0], the worker writes [1]
  int err[2];
  int emit[2];
  int run[2];  // the worker reads [0], init writes [1]
};

bool connect_processes(Connections& ends) {
  return (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.control) == 0 &&
          ::pipe2(ends.out, O_CLOEXEC) == 0 && ::pipe2(ends.err, O_CLOEXEC) == 0 &&
          ::pipe2(ends.emit, O_CLOEXEC) == 0 && ::pipe2(ends.run, O_CLOEXEC) == 0) ||
         fail("connect the sandbox's processes");
}

// What the zygote has on its own three is not for sandboxes to write to.
bool detach_from_zygote() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return fail("open /dev/null");
  for (const int fd : {0, 1, 2})
    if (::dup2(null, fd) != fd) return fail("detach from the zygote");
  ::signal(SIGCHLD, SIG_DFL);
  ::umask(022);
  ::setsid();
  return true;
}

// Whatever else the zygote has open: its socket to the host, its namespace, the files of cgroups,
// what tools keep. Before the forks, so that no process of the sandbox ever holds any of it.
bool close_inherited(const HearthSandboxSpec& spec) {
  constexpr unsigned first = 3;
  const auto stream = static_cast<unsigned>(spec.stream);
  return ((stream == first || ::close_range(first, stream - 1, 0) == 0) &&
          ::close_range(stream + 1, ~0U, 0) == 0) ||
         fail("close what the zygote has open");
}

// The limits come first: from then on, whatever happens is paid for by the sandbox. The rights go
// last, and the processes of the sandbox are forked when none is left.
bool isolate(const HearthSandboxSpec& spec) {
  return detach_from_zygote() && join_cgroups(spec) && enter_network(spec) &&
         close_inherited(spec) && enter_namespaces() && mount_scratch(spec) && mount_proc() &&
         set_limits() && become_sandbox_user(spec) && drop_capabilities() && restrict_files(spec) &&
         restrict_system_calls(spec);
}

void wait_as_harness(const Connections& ends, HearthSpawned& spawned) {
  constexpr int kept = 3;
  ::setsid();
  // Out of the way first: onto itself, dup3 fails.
  const int high = ::fcntl(ends.control[1], F_DUPFD_CLOEXEC, kept + 1);
  if (high < 0 || ::dup3(high, kept, O_CLOEXEC) != kept) ::_exit(1);
  ::close_range(kept + 1, ~0U, 0);
  pollfd readable{kept, POLLIN, 0};
  while (::poll(&readable, 1, -1) < 0 && errno == EINTR) {
  }
  spawned.role = hearth_harness;
  spawned.fds[0] = kept;
}

bool become_init(const HearthSandboxSpec& spec, const Connections& ends, int harness) {
  const int kept[] = {spec.stream, ends.control[0], ends.out[0],
                      ends.err[0], ends.emit[0],    ends.run[1]};
  for (const int fd : kept)
    if (::fcntl(fd, F_SETFD, 0) != 0) return fail("keep init's descriptors");
  char stream[16];
  char adopted[160];
  std::snprintf(stream, sizeof stream, "%d", spec.stream);
  std::snprintf(adopted, sizeof adopted, "%d,%d,%d,%d,%d,%d,%s", harness, ends.control[0],
                ends.out[0], ends.err[0], ends.emit[0], ends.run[1], spec.versions);
  const char* const arguments[] = {spec.init_path, "--host-fd", stream,
                                   "--adopt",      adopted,     nullptr};
  const char* const no_environment[] = {nullptr};
  ::execve(spec.init_path, const_cast<char* const*>(arguments),
           const_cast<char* const*>(no_environment));
  return fail("execute hearth-init");
}

// Where libc lets the kernel write on which processor a thread runs. A process that shares
// another's memory has no such place, nor have those it forks, but libc would go on reading there.
void remember_processor_number() {
  if (__rseq_size == 0) return;
  constexpr std::uint32_t smallest_area = 32;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  const std::uint32_t size = __rseq_size < smallest_area ? smallest_area : __rseq_size;
  // If it fails, libc has to know: it then asks the kernel each time.
  constexpr std::uint32_t registration_failed = -2;
  if (::syscall(SYS_rseq, area, size, 0, RSEQ_SIG) != 0)
    reinterpret_cast<struct rseq*>(area)->cpu_id = registration_failed;
}

[[noreturn]] void give_up(int stream) {
  char line[256];
  const int size = std::snprintf(line, sizeof line,
                                 R"({"type":"error","name":"SandboxFailed","message":"%s: %s",)"
                                 R"("traceback":""})"
                                 "\n",
                                 failed_step, std::strerror(errno));
  // Nobody is there to be told if this fails, too.
  if (::write(stream, line, static_cast<std::size_t>(size)) < 0) ::_exit(2);
  ::_exit(1);
}

// Returns in the worker and, later, in the harness.
void become_sandbox(const HearthSandboxSpec& spec, HearthSpawned& spawned) {
  Connections ends{};
  if (!isolate(spec) || !connect_processes(ends)) give_up(spec.stream);
  // The worker first: what it has to do takes longest. Not clone: fork runs the handlers by which
  // NumPy and others prepare for it.
  const int worker = ::fork();
  if (worker == 0) {
    spawned = {hearth_worker, {ends.out[1], ends.err[1], ends.emit[1], ends.run[0]}};
    return;
  }
  const int harness = worker < 0 ? -1 : ::fork();
  if (harness == 0) return wait_as_harness(ends, spawned);
  if (harness < 0) fail("fork the sandbox's processes");
  if (harness > 0) become_init(spec, ends, harness);
  give_up(spec.stream);
}

// The number of the new process, -1 if there is none; 0 in a new process that has a role. When it
// returns to the zygote, the sandbox is isolated and executes init, or has ended.
[[gnu::noinline]] int spawn(const HearthSandboxSpec& spec, HearthSpawned& spawned) {
  if (::setns(spec.own_pid_namespace, CLONE_NEWPID) != 0 || ::unshare(CLONE_NEWPID) != 0) return -1;
  // What becomes init needs no copy of Python's memory, which is most of what a fork costs. It uses
  // the zygote's, which waits meanwhile, and changes nothing in it that matters.
  const int pid = ::vfork();  // NOLINT: see above
  if (pid == 0) become_sandbox(spec, spawned);
  return pid;
}

volatile std::sig_atomic_t somebody_ended = 1;
void note_end(int /*signal*/) { somebody_ended = 1; }

// Until `forget_ended`, the number of a sandbox that could not be isolated stays its own.
void keep_ended() {
  somebody_ended = 0;
  ::signal(SIGCHLD, note_end);
}

// The kernel looks at every child to find those that have ended, and there may be thousands.
void forget_ended() {
  ::signal(SIGCHLD, SIG_IGN);
  while (somebody_ended != 0 && ::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
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

// False if there is a sandbox now that nobody could hold.
bool answer(int control, std::uint64_t number, int pid) {
  const int pidfd = pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (pid > 0 && pidfd < 0) return false;
  wire::SpawnReply reply{number, pidfd < 0 ? errno : 0};
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
  // If the host is gone, the next receive says so.
  ::sendmsg(control, &message, MSG_NOSIGNAL);
  if (pidfd >= 0) ::close(pidfd);
  return true;
}

void fill_in(HearthSandboxSpec& spec, const Request& request) {
  spec.uid = request.values.uid;
  spec.gid = request.values.gid;
  spec.workspace_bytes = request.values.workspace_bytes;
  spec.workspace_inodes = request.values.workspace_inodes;
  spec.scratch_bytes = request.values.scratch_bytes;
  spec.scratch_inodes = request.values.scratch_inodes;
  spec.use_landlock = request.values.use_landlock;
  const bool has_network = request.values.has_network != 0;
  spec.stream = request.fds[0];
  spec.network = has_network ? request.fds[1] : -1;
  spec.cgroup_fds = request.fds + (has_network ? 2 : 1);
  spec.cgroup_count = request.fd_count - (has_network ? 2 : 1);
}

}  // namespace

bool fail(const char* step) {
  failed_step = step;
  return false;
}

}  // namespace hearth::isolate

using namespace hearth::isolate;

extern "C" __attribute__((visibility("default"))) int hearth_serve(std::int32_t control,
                                                                   HearthSandboxSpec* spec,
                                                                   HearthSpawned* spawned) {
  // Whoever ends is nobody's business here: the host holds a pidfd.
  forget_ended();
  learn_untouched_network();
  Request request;
  while (receive(control, request)) {
    keep_ended();
    errno = EPROTO;
    int pid = -1;
    if (request.fd_count > (request.values.has_network != 0 ? 1 : 0)) {
      fill_in(*spec, request);
      pid = spawn(*spec, *spawned);
      if (pid == 0) {
        remember_processor_number();
        // Here and not in Python, where a thread of a tool that wants the lock stops it before.
        spec->after_fork();
        return 0;
      }
    }
    // Everything in this pid namespace ends with its first process, which is this one.
    if (!answer(control, request.values.number, pid)) return -1;
    forget_ended();
    for (std::size_t i = 0; i < request.fd_count; ++i) ::close(request.fds[i]);
  }
  return -1;
}
