// isolate/namespaces.h: mount, IPC, UTS and cgroup namespaces. user.h and network.h have theirs.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// Both return false after fail().
bool enter_namespaces();
// For a later worker: those of the process `spec.joined`, its network namespace included.
bool join_namespaces(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
