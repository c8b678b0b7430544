#include "native/user_plan.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hearth;
using namespace hearth::native;
using Kind = UserPlan::Kind;

namespace {

const std::vector<os::IdExtent> all_ids = {{0, 0xffffffff}};

// Of a machine without containers.
UserFacts machine_root() {
  return {.uid = 0,
          .host_root = 0,
          .may_mount = true,
          .may_set_ids = true,
          .uids = all_ids,
          .gids = all_ids};
}

UserFacts root_of_namespace(std::vector<os::IdExtent> ids) {
  UserFacts facts = machine_root();
  facts.host_root.reset();
  facts.uids = ids;
  facts.gids = std::move(ids);
  return facts;
}

bool has_user(const UserPlan& plan, uid_t uid) {
  return std::any_of(plan.ranges.begin(), plan.ranges.end(), [&](const UidRange& range) {
    return uid >= range.first && uid - range.first < range.count;
  });
}

}  // namespace

TEST_CASE("root gives each sandbox a user, with or without CAP_SYS_ADMIN") {
  for (const bool may_mount : {true, false}) {
    UserFacts facts = machine_root();
    facts.may_mount = may_mount;
    const UserPlan plan = plan_users(facts);
    CHECK(plan.kind == Kind::range);
    CHECK(plan.ranges.size() == 192);
    CHECK_FALSE(has_user(plan, 0));
  }
}

TEST_CASE("no sandbox has the number of a user that sssd gives to Active Directory by default") {
  for (const UidRange& range : plan_users(machine_root()).ranges) CHECK(range.first > 2000200000);
}

TEST_CASE("root that may not set ids is refused with what to do") {
  UserFacts facts = machine_root();
  facts.may_set_ids = false;
  const UserPlan plan = plan_users(facts);
  CHECK(plan.kind == Kind::refused);
  CHECK(plan.reason.find("--cap-add SETUID") != std::string::npos);
}

TEST_CASE("an ordinary user's sandboxes are its own, unless it may set ids") {
  UserFacts facts = machine_root();
  facts.uid = 1000;
  facts.may_mount = facts.may_set_ids = false;
  CHECK(plan_users(facts).kind == Kind::caller);
  facts.may_set_ids = true;
  CHECK(plan_users(facts).kind == Kind::range);
}

TEST_CASE("ranges lie in what the user namespace has, of users and of groups") {
  // As rootless engines make it: the caller, then its subordinate ids.
  UserFacts facts = root_of_namespace({{0, 1}, {1, 65536}});
  const UserPlan plan = plan_users(facts);
  CHECK(plan.kind == Kind::range);
  CHECK(has_user(plan, 40000));
  CHECK_FALSE(has_user(plan, 1000));
  CHECK_FALSE(has_user(plan, 65534));
  facts.gids = {{0, 40000}};
  const UserPlan with_fewer_groups = plan_users(facts);
  CHECK(with_fewer_groups.kind == Kind::range);
  CHECK_FALSE(has_user(with_fewer_groups, 40000));
}

TEST_CASE("root of a user namespace with too few users makes sandboxes of itself") {
  CHECK(plan_users(root_of_namespace({{0, 1}})).kind == Kind::caller);
  CHECK(plan_users(root_of_namespace({{0, 1000}})).kind == Kind::caller);
}

TEST_CASE("the machine's root in a user namespace with too few users takes one of them") {
  UserFacts facts = root_of_namespace({{0, 1}, {1, 10}});
  facts.host_root = 0;
  const UserPlan plan = plan_users(facts);
  CHECK(plan.kind == Kind::one);
  REQUIRE(plan.ranges.size() == 1);
  CHECK(plan.ranges[0].first == 10);
  CHECK(plan.ranges[0].count == 1);
}

TEST_CASE("the machine's root alone in a user namespace is refused with what to do") {
  UserFacts facts = root_of_namespace({{0, 1}});
  facts.host_root = 0;
  CHECK(plan_users(facts).kind == Kind::refused);
  facts.may_set_ids = false;  // as `unshare -Ur` makes it
  const UserPlan plan = plan_users(facts);
  CHECK(plan.kind == Kind::refused);
  CHECK(plan.reason.find("no other user exists in this user namespace") != std::string::npos);
}

TEST_CASE("no range contains the machine's root, whatever its number") {
  UserFacts facts = root_of_namespace({{0, 65536}});
  facts.host_root = 40000;
  const UserPlan plan = plan_users(facts);
  CHECK(plan.kind == Kind::range);
  CHECK_FALSE(has_user(plan, 40000));
}
