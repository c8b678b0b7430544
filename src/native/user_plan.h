// native/user_plan.h: which users sandboxes can have. Decided by what this process may do, not by
// its user id: root in a container may lack rights, root of a user namespace may lack users.
#pragma once

#include "native/cgroup_mounts.h"
#include "native/launch_plan.h"
#include "os/user_rights.h"

#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct UserFacts {
  uid_t uid = 0;
  std::optional<uid_t> host_root{};  // the machine's root, by its number here
  bool may_mount = false;            // CAP_SYS_ADMIN reaches hearth-launcher
  bool may_set_ids = false;          // so do CAP_SETUID and CAP_SETGID, and groups can be left
  std::vector<os::IdExtent> uids{};  // that exist in our user namespace
  std::vector<os::IdExtent> gids{};

  bool is_host_root() const { return host_root == uid; }
};
// `cgroups`: those in use, if any. Version 1 lets only the machine's root move processes of other
// users, so other callers may not set ids then.
UserFacts gather_user_facts(std::optional<CgroupMounts::Version> cgroups);

struct UserPlan {
  enum class Kind {
    range,    // each sandbox has a user of its own
    one,      // all share one unprivileged user, since no more exist here
    caller,   // all are the caller
    refused,  // they would be the machine's root
  };
  Kind kind = Kind::refused;
  std::vector<UidRange> ranges{};  // to claim one of; for `one`, a single user
  std::string reason{};            // of a refusal, with what to do
};
// The machine's root is in none of its ranges, and never the caller.
UserPlan plan_users(const UserFacts& facts);

}  // namespace hearth::native
