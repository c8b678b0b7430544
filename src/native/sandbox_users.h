// native/sandbox_users.h: the users that this process gives to sandboxes and builds, held for as
// long as the object lives.
#pragma once

#include "native/uid_range.h"
#include "native/user_plan.h"

#include <optional>

namespace hearth::native {

struct SandboxUsers {
  std::optional<UidRange> uids;        // empty: sandboxes are the caller
  std::optional<UidRangeClaim> claim;  // of `uids`, unless that is a single user
};

// `cgroups`: those in use, if any. CannotSandbox if sandboxes would be the machine's root, Error if
// every range is taken.
SandboxUsers claim_users(std::optional<CgroupMounts::Version> cgroups);

}  // namespace hearth::native
