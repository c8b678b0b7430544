// isolate/spawn.h: forks a sandbox, or one more worker for it, and confines it.
#pragma once

#include "isolate/sandbox_spec.h"

#include <cstdint>

namespace hearth::isolate {

// What a new worker has to know.
struct NewWorker {
  std::int32_t fds[4];      // stdout, stderr, emit, run
  std::int32_t in_between;  // its parent if that exits and leaves it to init, else 0
};

// The pid of the new process, -1 if there is none; 0 in a new worker. When this returns to the
// zygote, the sandbox is isolated and executes init, or has exited.
int spawn_sandbox(const HearthSandboxSpec& spec, NewWorker& worker);
// The same for one more worker of a sandbox, except that the zygote does not wait.
int spawn_later_worker(const HearthSandboxSpec& spec, NewWorker& worker);

}  // namespace hearth::isolate
