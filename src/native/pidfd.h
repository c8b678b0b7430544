// native/pidfd.h: a process by a handle that never names another one.
#pragma once

#include "async/task.h"

#include <sys/types.h>

namespace hearth::native {

void kill_process(int pidfd);
// `pidfd` must stay open until this returns. Throws only when cancelled: its callers free what the
// process used, so it must really have exited.
Task<> process_ended(int pidfd);
bool has_ended(int pidfd);
// Whether its process is in a pid namespace below this process's own, or has exited.
bool is_below(int pidfd);
// Its pid as this process's /proc shows it; 0 if it has exited.
pid_t pid_of(int pidfd);

}  // namespace hearth::native
