// isolate/resource_limits.h: the sandbox's cgroups, resource limits and out-of-memory score.
#pragma once

#include "isolate/sandbox_spec.h"

#include <cstdint>

namespace hearth::isolate {

// Where init and scripts run as one user, none of them can send descriptors while that user has
// more in flight than the limit of the sender. So a script must not be able to reach init's limit.
inline constexpr std::uint64_t worker_files = 1024;
inline constexpr std::uint64_t init_files = 4096;

// All return false after fail().
bool join_cgroups(const HearthSandboxSpec& spec);
bool set_limits(const HearthSandboxSpec& spec);
bool limit_files(std::uint64_t soft, std::uint64_t hard);
// After the sandbox has its user namespace: RLIMIT_NPROC counts the processes of a user in a user
// namespace, and what a namespace is created with holds for all of its user outside.
bool limit_processes(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
