// isolate/user.h: the unprivileged user of a sandbox's processes, in a user namespace of its own.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// Both return false after fail().
bool become_sandbox_user(const HearthSandboxSpec& spec);
// For a later worker. Closes `spec.joined`.
bool join_sandbox_user(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
