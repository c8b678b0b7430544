// init/inherited_limits.h: what a process passes on to its forks and another one of the same user
// can change from outside. A script that changed it in the harness would speak to later turns.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>

namespace hearth::init {

class InheritedLimits {
 public:
  // As they are now in the process `pid`.
  explicit InheritedLimits(pid_t pid);

  // Whether they are still so. Processors are given back; the rest can often only be lowered, so
  // it is the caller's to act.
  bool hold_in(pid_t pid) const;

 private:
  std::array<rlimit, RLIM_NLIMITS> resources_{};
  int nice_ = 0;
  int scheduler_ = 0;
  long io_priority_ = 0;
  cpu_set_t processors_{};
};

}  // namespace hearth::init
