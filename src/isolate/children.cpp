#include "isolate/children.h"

#include <signal.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>

namespace hearth::isolate {
namespace {

volatile std::sig_atomic_t child_exited = 1;
void note_exit(int /*signal*/) { child_exited = 1; }

constexpr std::size_t max_intermediates = 64;
int intermediates[max_intermediates];
std::size_t intermediate_count = 0;

// By pid: the signal of a child that exits right now may be lost with its handler.
void reap_intermediates() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < intermediate_count; ++i)
    if (::waitpid(intermediates[i], nullptr, WNOHANG) == 0)
      intermediates[kept++] = intermediates[i];
  intermediate_count = kept;
}

}  // namespace

void keep_zombies() {
  child_exited = 0;
  ::signal(SIGCHLD, note_exit);
}

void reap_children() {
  const bool may_miss_one = intermediate_count == max_intermediates;
  // From here on the kernel reaps. Zombies from before remain, and to find them it looks at every
  // child.
  ::signal(SIGCHLD, SIG_IGN);
  while ((child_exited != 0 || may_miss_one) && ::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  reap_intermediates();
}

void note_intermediate(int pid) {
  if (intermediate_count < max_intermediates) intermediates[intermediate_count++] = pid;
}

}  // namespace hearth::isolate
