// blueprint/derived_limits.h: limits of the kernel that follow from those of a blueprint.
#pragma once

#include "blueprint/sandbox_config.h"

#include <algorithm>
#include <cstdint>

namespace hearth::blueprint {

// The largest size of a file that a script can make: enough for all of the memory and of
// /workspace, and small enough that a sparse file on the host's disk stays within reason.
inline std::uint64_t largest_file_bytes(const SandboxConfig& config) {
  constexpr std::int64_t least_mb = 1024;
  const std::int64_t largest_mb =
      std::max({least_mb, config.resource_limits.memory_mb, config.scratch_size_mb});
  return static_cast<std::uint64_t>(largest_mb) << 20;
}

// What may be swapped out, beside what is in memory. Without a total nothing may: /workspace and
// what scripts hold never reach the host's disk.
inline std::int64_t swap_mb(const ResourceLimits& limits) {
  return std::max<std::int64_t>(limits.memory_swap_mb - limits.memory_mb, 0);
}

// What the buffers of all its TCP and UDP sockets may hold together, where the kernel counts them
// apart from the memory limit (cgroups of version 1).
inline std::uint64_t socket_buffer_bytes(std::uint64_t memory_bytes) {
  constexpr std::uint64_t share = 8;
  constexpr std::uint64_t least = std::uint64_t{4} << 20;  // for one busy connection
  return std::max(memory_bytes / share, least);
}

}  // namespace hearth::blueprint
