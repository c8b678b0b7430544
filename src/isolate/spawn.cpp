#include "isolate/spawn.h"

#include "isolate/capabilities.h"
#include "isolate/descriptors.h"
#include "isolate/failure.h"
#include "isolate/landlock.h"
#include "isolate/mounts.h"
#include "isolate/namespaces.h"
#include "isolate/network.h"
#include "isolate/resource_limits.h"
#include "isolate/seccomp_filter.h"
#include "isolate/user.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace hearth::isolate {
namespace {

struct Pipe {
  int read;
  int write;
};

bool open_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("connect the sandbox's processes");
  pipe = {ends[0], ends[1]};
  return true;
}

// Between init and the first worker.
struct Connections {
  Pipe out;
  Pipe err;
  Pipe emit;
  Pipe run;
};

bool connect_processes(Connections& pipes) {
  return open_pipe(pipes.out) && open_pipe(pipes.err) && open_pipe(pipes.emit) &&
         open_pipe(pipes.run);
}

// Sandboxes must not write to the zygote's standard streams.
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

// The checklist of isolation. Limits come first: from then on, all cost is charged to the sandbox.
// Rights are dropped last, and the processes of the sandbox are forked when none is left.
bool isolate(const HearthSandboxSpec& spec) {
  return detach_from_zygote() && join_cgroups(spec) && enter_network(spec) &&
         close_all_but({spec.stream, spec.control}) && enter_namespaces() && mount_scratch(spec) &&
         mount_terminals() && mount_proc() && set_limits(spec) && become_sandbox_user(spec) &&
         limit_processes(spec) && drop_capabilities() && restrict_files(spec) &&
         restrict_system_calls(spec);
}

// The same for a later process, which joins an existing sandbox.
bool join(const HearthSandboxSpec& spec) {
  const std::int32_t* const ends = spec.worker_fds;
  return detach_from_zygote() && join_cgroups(spec) && join_namespaces(spec) &&
         close_all_but({spec.joined, spec.gate, ends[0], ends[1], ends[2], ends[3]}) &&
         set_limits(spec) && join_sandbox_user(spec) && limit_processes(spec) &&
         drop_capabilities() && restrict_files(spec) && restrict_system_calls(spec);
}

// The host holds a pidfd of this process only. All that it forks is confined in the same way.
bool pass_gate(int gate) {
  char byte = 0;
  return (::write(gate, &byte, 1) == 1 && ::read(gate, &byte, 1) == 1 && ::close(gate) == 0) ||
         fail("wait for the host's check");
}

bool become_init(const HearthSandboxSpec& spec, const Connections& pipes) {
  const int kept[] = {spec.stream,    spec.control,    pipes.out.read,
                      pipes.err.read, pipes.emit.read, pipes.run.write};
  for (const int fd : kept)
    if (::fcntl(fd, F_SETFD, 0) != 0) return fail("keep init's descriptors");
  if (!limit_files(init_files, init_files)) return false;
  char stream[16];
  char adopted[160];
  std::snprintf(stream, sizeof stream, "%d", spec.stream);
  std::snprintf(adopted, sizeof adopted, "%d,%d,%d,%d,%d,%s", spec.control, pipes.out.read,
                pipes.err.read, pipes.emit.read, pipes.run.write, spec.versions);
  const char* const arguments[] = {spec.init_path, "--host-fd", stream,
                                   "--adopt",      adopted,     nullptr};
  ::execve(spec.init_path, const_cast<char* const*>(arguments),
           const_cast<char* const*>(spec.environment));
  return fail("execute hearth-init");
}

void become_worker(const HearthSandboxSpec& spec, const NewWorker& worker) {
  if (!limit_files(worker_files, worker_files) || !restrict_signals(spec))
    exit_worker(worker.fds[2]);
}

// Returns in the worker.
void become_sandbox(const HearthSandboxSpec& spec, NewWorker& worker) {
  Connections pipes{};
  if (!isolate(spec) || !connect_processes(pipes)) exit_sandbox(spec.stream);
  // Not clone: fork runs the handlers that NumPy and other libraries have registered.
  const int pid = ::fork();
  if (pid == 0) {
    worker = {{pipes.out.write, pipes.err.write, pipes.emit.write, pipes.run.read}, 0};
    return become_worker(spec, worker);
  }
  if (pid < 0) fail("fork the sandbox's worker");
  if (pid > 0) become_init(spec, pipes);
  exit_sandbox(spec.stream);
}

// Returns in the worker. The process in between exits, so that the worker becomes a child of init.
void become_later_worker(const HearthSandboxSpec& spec, NewWorker& worker) {
  const std::int32_t* const ends = spec.worker_fds;
  if (!join(spec) || !pass_gate(spec.gate)) exit_worker(ends[2]);
  const int in_between = ::getpid();
  const int pid = ::fork();
  if (pid == 0) {
    worker = {{ends[0], ends[1], ends[2], ends[3]}, in_between};
    return become_worker(spec, worker);
  }
  if (pid > 0) ::_exit(0);
  fail("fork a worker");
  exit_worker(ends[2]);
}

}  // namespace

[[gnu::noinline]] int spawn_sandbox(const HearthSandboxSpec& spec, NewWorker& worker) {
  if (::setns(spec.own_pid_namespace, CLONE_NEWPID) != 0 || ::unshare(CLONE_NEWPID) != 0) return -1;
  // The process that becomes init needs no copy of Python's page tables, which is most of the cost
  // of a fork. It uses the zygote's memory while the zygote waits, and changes nothing that
  // matters.
  const int pid = ::vfork();  // NOLINT: see above
  if (pid == 0) become_sandbox(spec, worker);
  return pid;
}

int spawn_later_worker(const HearthSandboxSpec& spec, NewWorker& worker) {
  if (::setns(spec.joined, CLONE_NEWPID) != 0) return -1;
  // Not vfork: a process of the sandbox may stop this one, and the zygote would hang.
  const int pid = ::fork();
  if (pid == 0) become_later_worker(spec, worker);
  return pid;
}

}  // namespace hearth::isolate
