// init/inherited_limits.h: limits that a process passes on to its forks, and that another process
// of the same user can change. A script that changed those of the harness would affect later turns.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>

namespace hearth::init {

class InheritedLimits {
 public:
  // The present limits of the process `pid`.
  explicit InheritedLimits(pid_t pid);

  // True if they are unchanged. The CPU affinity is restored. The others can often only be lowered,
  // so the caller must act.
  bool hold_in(pid_t pid) const;

 private:
  std::array<rlimit, RLIM_NLIMITS> resources_{};
  int nice_ = 0;
  int scheduler_ = 0;
  long io_priority_ = 0;
  cpu_set_t cpus_{};
};

}  // namespace hearth::init
