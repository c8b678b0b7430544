// os/kill_processes.h: ending processes that are not our children.
#pragma once

#include <sys/types.h>

#include <functional>

namespace hearth::os {

// Default policy and priority, every CPU: a process must get CPU time to exit. An unprivileged user
// may only set the affinity.
void reset_scheduling(pid_t pid);

// Looks at every process of /proc, and sends SIGKILL to those that `is_meant`. Of these it resets
// the scheduling, too. May miss a process that is just being forked. Some 10 us for each process.
void kill_processes(const std::function<bool(pid_t)>& is_meant);

}  // namespace hearth::os
