#include "isolate/serve.h"

#include "isolate/children.h"
#include "isolate/large_pages.h"
#include "isolate/network.h"
#include "isolate/requests.h"
#include "isolate/spawn.h"
#include "isolate/worker_start.h"
#include "wire/spawn_request.h"

#include <sched.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace hearth::isolate {
namespace {

// Registers the place where the kernel writes on which CPU a thread runs. A process that shares
// another's memory has none registered, nor have its forks, but libc would still read it. Other
// processes have theirs already.
void register_rseq() {
  if (__rseq_size == 0) return;
  constexpr std::uint32_t smallest_area = 32;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  const std::uint32_t size = __rseq_size < smallest_area ? smallest_area : __rseq_size;
  // libc must know of a failure: it then asks the kernel each time.
  constexpr std::uint32_t registration_failed = -2;
  if (::syscall(SYS_rseq, area, size, 0, RSEQ_SIG) != 0 && errno != EBUSY)
    reinterpret_cast<struct rseq*>(area)->cpu_id = registration_failed;
}

// Checked each time: the fork handlers of a library may start threads.
bool is_only_thread() {
  constexpr nlink_t links_without_threads = 2;
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == links_without_threads + 1;
}

// The pid of the new process, -1 if there is none, 0 in it.
int spawn_twin(const HearthSandboxSpec& spec) {
  if (!is_only_thread()) {
    // A lock that another thread holds now would stay locked in the twin and all its sandboxes.
    errno = ENOTSUP;
    return -1;
  }
  // Otherwise the twin would be forked into the pid namespace of the last sandbox.
  if (::setns(spec.own_pid_namespace, CLONE_NEWPID) != 0) return -1;
  return ::fork();
}

// Takes as long as several sandboxes, so only zygotes that make many do it. Done before the first
// twin is forked, so that twins share the pages.
constexpr std::size_t few_sandboxes = 8;
void use_large_pages(const HearthSandboxSpec& spec, const wire::SpawnRequest& request,
                     bool& is_done) {
  if (is_done || request.use_large_pages == 0) return;
  is_done = true;
  put_code_into_large_pages(reinterpret_cast<const void*>(spec.after_fork));
  if (is_only_thread()) put_data_into_large_pages();
}

// In a twin: the socket that came with the request replaces the one of its parent.
void take_own_socket(std::int32_t& control, const Request& request) {
  ::close(control);
  control = request.fds[0];
}

}  // namespace
}  // namespace hearth::isolate

using namespace hearth::isolate;
using hearth::wire::SpawnKind;

extern "C" int hearth_serve(std::int32_t control, HearthSandboxSpec* spec) {
  // The zygote waits for no child: the host holds a pidfd of each.
  reap_children();
  learn_untouched_network();
  bool uses_large_pages = false;
  std::size_t answered = 0;
  Request request;
  NewWorker worker{};
  while (receive(control, request)) {
    keep_zombies();
    errno = EPROTO;
    int pid = -1;
    if (is_whole(request) && request.values.kind == SpawnKind::twin) {
      use_large_pages(*spec, request.values, uses_large_pages);
      pid = spawn_twin(*spec);
      if (pid == 0) {
        take_own_socket(control, request);
        reap_children();
        continue;
      }
    } else if (is_whole(request)) {
      fill_in(*spec, request);
      pid = request.values.kind == SpawnKind::worker ? spawn_later_worker(*spec, worker)
                                                     : spawn_sandbox(*spec, worker);
      if (pid == 0) {
        register_rseq();
        // Not in Python: there a tool's thread that waits for the interpreter's lock could run
        // first.
        spec->after_fork();
        return start_worker(worker) ? 1 : 0;
      }
    }
    if (request.values.kind == SpawnKind::worker && pid > 0) note_intermediate(pid);
    // Then the zygote exits and, as PID 1, takes its whole pid namespace with it.
    if (!answer(control, request.values, pid)) return -1;
    reap_children();
    for (std::size_t i = 0; i < request.fd_count; ++i) ::close(request.fds[i]);
    if (++answered == few_sandboxes) use_large_pages(*spec, request.values, uses_large_pages);
  }
  return -1;
}
