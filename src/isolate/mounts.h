// isolate/mounts.h: the sandbox's own mounts: three empty directories in memory, and /proc.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// Both return false after fail().
bool mount_scratch(const HearthSandboxSpec& spec);
bool mount_proc();

}  // namespace hearth::isolate
