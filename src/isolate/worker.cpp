// What a worker does before its first line of Python, which would copy pages that no script needs.
// Where Python starts workers itself, in containers, executor_harness/worker.py does the same.
#include "isolate/steps.h"

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

// Where a script finds what init gave: stdout, stderr, emit, run. The harness has the same numbers.
constexpr int first_place = 1;
constexpr int first_private_place = 3;
constexpr int emit_place = 3;
constexpr int run_place = 4;
constexpr int first_spare = 5;

bool take_places(NewWorker& worker) {
  // The numbers they have may be each other's places.
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

void settle_down() {
  ::setsid();
  if (::chdir("/workspace") != 0 && ::chdir("/") != 0) {
    // Then it is where the zygote was, which is the root as well.
  }
}

// Init looks for processes among its own children: what is none of them yet would survive a reset.
// Usually there is nothing to wait for. Polled, as a process closes its files before it gives its
// children away.
void wait_for_end_of_parent(int between) {
  constexpr timespec a_moment{0, 200'000};
  while (between != 0 && ::getppid() == between) ::nanosleep(&a_moment, nullptr);
}

template <typename... Numbers>
bool say_to_init(const char* format, Numbers... numbers) {
  char line[96];
  const int size = std::snprintf(line, sizeof line, format, numbers...);
  return ::write(emit_place, line, static_cast<std::size_t>(size)) == size || fail("speak to init");
}

int sleep_for_ever(void* /*unused*/) {
  while (true) ::pause();
}

// Shares this process's memory, so that this one can end without taking it apart; every signal is
// blocked in it. A child of init, not of the script. See the harness. 0 if there can be none.
int start_memory_holder() {
  alignas(16) static char stack[16 << 10];
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &previous);
  const int pid = ::clone(sleep_for_ever, stack + sizeof stack, CLONE_VM | CLONE_PARENT, nullptr);
  ::sigprocmask(SIG_SETMASK, &previous, nullptr);
  // It shall sleep before a script comes: who has used the processor since is not trusted.
  ::sched_yield();
  return pid > 0 ? pid : 0;
}

bool announce(const NewWorker& worker) {
  wait_for_end_of_parent(worker.between);
  const int pid = ::getpid();
  // Before there is a holder, who keeps the pipes open when this process is gone.
  return say_to_init("0 0 {\"type\":\"starting\",\"pid\":%d}\n", pid) &&
         say_to_init("0 0 {\"type\":\"prepared\",\"pid\":%d,\"holder\":%d}\n", pid,
                     start_memory_holder());
}

// Before a rehearsal would be worth its time.
bool script_comes_at_once() {
  constexpr int patience_ms = 5;
  pollfd run{run_place, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&run, 1, patience_ms)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

}  // namespace

bool start_worker(NewWorker worker) {
  settle_down();
  if (!take_places(worker) || !announce(worker)) give_up_worker(worker.fds[2]);
  return script_comes_at_once();
}

}  // namespace hearth::isolate
