#include "init/inherited_limits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace hearth::init {
namespace {

constexpr int io_priority_of_process = 1;  // IOPRIO_WHO_PROCESS, which libc does not define

bool same(const rlimit& one, const rlimit& other) {
  return one.rlim_cur == other.rlim_cur && one.rlim_max == other.rlim_max;
}

}  // namespace

InheritedLimits::InheritedLimits(pid_t pid)
    : nice_(::getpriority(PRIO_PROCESS, static_cast<id_t>(pid))),
      scheduler_(::sched_getscheduler(pid)),
      io_priority_(::syscall(SYS_ioprio_get, io_priority_of_process, pid)) {
  for (unsigned kind = 0; kind < resources_.size(); ++kind)
    ::prlimit(pid, static_cast<__rlimit_resource>(kind), nullptr, &resources_[kind]);
  ::sched_getaffinity(pid, sizeof cpus_, &cpus_);
}

bool InheritedLimits::hold_in(pid_t pid) const {
  // Set rather than compared: the operator may move all processes to other CPUs. Where a seccomp
  // filter refuses this call, no script could have changed them either.
  ::sched_setaffinity(pid, sizeof cpus_, &cpus_);
  const InheritedLimits now(pid);
  return std::equal(resources_.begin(), resources_.end(), now.resources_.begin(), same) &&
         nice_ == now.nice_ && scheduler_ == now.scheduler_ && io_priority_ == now.io_priority_;
}

}  // namespace hearth::init
