// isolate/mounts.h: the sandbox's own mounts: three empty directories in memory, terminals
// and /proc.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// All return false after fail().
bool mount_terminals();
bool mount_scratch(const HearthSandboxSpec& spec);
bool mount_proc();

}  // namespace hearth::isolate
