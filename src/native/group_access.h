// native/group_access.h: what a script may do only because the user that runs Hearth is in a group.
// An ordinary user cannot leave its supplementary groups, in no user namespace: the kernel allows
// setgroups there only if the map of groups was written with rights outside. As root all are left.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  // supplementary, without `gid`
};
Credentials own_credentials();

// Whether a supplementary group allows something that nothing else does.
bool depends_on_group(const struct stat& file, const Credentials& own);

// The first file at or below `source` of which that is true. Looks at no more than ten thousand.
std::optional<std::filesystem::path> file_that_depends_on_group(const std::filesystem::path& source,
                                                                const Credentials& own);

}  // namespace hearth::native
