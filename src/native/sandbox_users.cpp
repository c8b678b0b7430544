#include "native/sandbox_users.h"

#include "native/native_machine.h"

namespace hearth::native {

SandboxUsers claim_users(std::optional<CgroupMounts::Version> cgroups) {
  const UserPlan plan = plan_users(gather_user_facts(cgroups));
  if (plan.kind == UserPlan::Kind::refused)
    throw CannotSandbox({plan.reason}, CannotSandbox::Remedy::none);
  SandboxUsers users;
  if (plan.kind == UserPlan::Kind::one) users.uids = plan.ranges.front();
  if (plan.kind != UserPlan::Kind::range) return users;
  users.claim.emplace(plan.ranges);
  users.uids = users.claim->range();
  return users;
}

}  // namespace hearth::native
