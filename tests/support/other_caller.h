// tests/support/other_caller.h: this test program, run again by a caller with other rights.
#pragma once

#include "native/cgroup_mounts.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace hearth::test {

// Groups that belong to another user, as an administrator would make them. Version 1 of cgroups.
class GroupsOfUser {
 public:
  GroupsOfUser(const native::CgroupMounts& mounts, uid_t user);
  ~GroupsOfUser();  // checks that nothing was left in them
  GroupsOfUser(const GroupsOfUser&) = delete;
  GroupsOfUser& operator=(const GroupsOfUser&) = delete;

  bool join() const;

 private:
  std::vector<std::filesystem::path> groups_;
  std::vector<os::UniqueFd> joining_;
};

// A copy of this program and its companions that every user can execute.
std::filesystem::path copy_programs(const std::filesystem::path& directory);

// The exit code of `program`, executed with a filter for its tests by a child in which `become` has
// succeeded.
int run_tests_as(const std::filesystem::path& program, const std::string& filter,
                 const std::function<bool()>& become);

// For `become`.
bool become_user(uid_t user);  // and its group; in no others
// Until exec gives root back what is left in the bounding set.
bool give_up_capability(int capability);
// The root of a new user namespace, which holds `count` users from `first` on.
bool become_root_of_namespace(uid_t first, unsigned count);

}  // namespace hearth::test
