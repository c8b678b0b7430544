// native/sandbox_parts.h: what the host holds of one sandbox, from before its first process until
// everything is cleared away.
#pragma once

#include "native/cgroup_tree.h"
#include "native/uid_range.h"
#include "native/zygote.h"
#include "os/unique_fd.h"

#include <memory>
#include <optional>

namespace hearth::native {

// The user and the cgroup must stay taken until the last process has exited.
struct SandboxParts {
  os::UniqueFd pidfd;                     // of its first process
  CgroupTree::Lease cgroup{nullptr, {}};  // null without cgroups
  std::optional<UidPool::Lease> uid;      // nothing if all sandboxes have the same user
  os::UniqueFd network;                   // its namespace, kept when it is killed, to be reused
  std::shared_ptr<Zygote> zygote;
};

}  // namespace hearth::native
