// backend/limits.h: what holds a sandbox's limits of memory, processes and CPU.
#pragma once

namespace hearth::backend {

enum class Limits {
  strict,    // by cgroups, for a sandbox as a whole
  degraded,  // where there are none: of memory by process, of processes by user namespace, no CPU
};

}  // namespace hearth::backend
