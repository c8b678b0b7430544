// native/pidfd.h: a process by a handle that never comes to mean another.
#pragma once

#include "async/task.h"

#include <sys/types.h>

namespace hearth::native {

void kill_process(int pidfd);
// `pidfd` must stay open until this returns. Fails only by being cancelled: whoever takes a process
// for ended gives away what is still its own.
Task<> process_ended(int pidfd);
bool has_ended(int pidfd);
// Its number as this process's /proc shows it, 0 when it has ended.
pid_t pid_of(int pidfd);

}  // namespace hearth::native
