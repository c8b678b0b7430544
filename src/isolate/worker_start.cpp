#include "isolate/worker_start.h"

#include "isolate/failure.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace hearth::isolate {
namespace {

// The descriptors of a worker: stdout, stderr, emit, run. The harness has the same numbers.
constexpr int first_place = 1;
constexpr int first_private_place = 3;
constexpr int emit_place = 3;
constexpr int run_place = 4;
constexpr int first_spare = 5;

bool take_places(NewWorker& worker) {
  // A descriptor's present number may be the place of another.
  for (std::int32_t& fd : worker.fds) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, first_spare);
    if (copy < 0) return fail("move its descriptors");
    fd = copy;
  }
  int place = first_place;
  for (std::int32_t& fd : worker.fds) {
    if (::dup3(fd, place, place < first_private_place ? 0 : O_CLOEXEC) != place)
      return fail("put its descriptors in their places");
    fd = place++;
  }
  return ::close_range(first_spare, ~0U, 0) == 0 || fail("close its other descriptors");
}

void leave_zygote_session() {
  ::setsid();
  if (::chdir("/workspace") != 0 && ::chdir("/") != 0) {
    // Then it stays in the zygote's directory, which is the root as well.
  }
}

// Init looks for processes among its own children. A process that is not yet one would survive a
// reset. Usually there is nothing to wait for. Polled, because a process closes its files before
// its children get a new parent.
void wait_for_exit_of_parent(int in_between) {
  constexpr timespec a_moment{0, 200'000};
  while (in_between != 0 && ::getppid() == in_between) ::nanosleep(&a_moment, nullptr);
}

template <typename... Numbers>
bool report_to_init(const char* format, Numbers... numbers) {
  char line[96];
  const int size = std::snprintf(line, sizeof line, format, numbers...);
  return ::write(emit_place, line, static_cast<std::size_t>(size)) == size || fail("write to init");
}

int sleep_forever(void* /*unused*/) {
  while (true) ::pause();
}

// A process that shares this one's memory, so that this one can exit without freeing it. All its
// signals are blocked. It is a child of init, not of the script. 0 if it cannot be started.
int start_memory_holder() {
  alignas(16) static char stack[16 << 10];
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &previous);
  const int pid = ::clone(sleep_forever, stack + sizeof stack, CLONE_VM | CLONE_PARENT, nullptr);
  ::sigprocmask(SIG_SETMASK, &previous, nullptr);
  // It should sleep before a script arrives: init trusts no holder that uses CPU time after that.
  ::sched_yield();
  return pid > 0 ? pid : 0;
}

bool announce(const NewWorker& worker) {
  wait_for_exit_of_parent(worker.in_between);
  const int pid = ::getpid();
  // Before there is a holder, which keeps the pipes open when this process has exited.
  return report_to_init("0 0 {\"type\":\"starting\",\"pid\":%d}\n", pid) &&
         report_to_init("0 0 {\"type\":\"prepared\",\"pid\":%d,\"holder\":%d}\n", pid,
                        start_memory_holder());
}

// Otherwise there is time for a rehearsal.
bool script_arrives_soon() {
  constexpr int patience_ms = 5;
  pollfd run{run_place, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&run, 1, patience_ms)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

}  // namespace

bool start_worker(NewWorker worker) {
  leave_zygote_session();
  if (!take_places(worker) || !announce(worker)) exit_worker(worker.fds[2]);
  return script_arrives_soon();
}

}  // namespace hearth::isolate
