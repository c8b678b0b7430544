// os/user_rights.h: what this process may do with user ids, as the kernel decides it: by
// capabilities and by the user namespace it is in, not by its own user id.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::os {

// Ids that exist in a user namespace, by their numbers in it.
struct IdExtent {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
// The first and the last column of /proc/self/uid_map or gid_map.
std::vector<IdExtent> parse_id_map(const std::string& text);

// One bit for each capability, numbered as in linux/capability.h.
using Capabilities = std::uint64_t;
inline bool has(Capabilities set, int capability) { return (set >> capability & 1) != 0; }

// The effective set of this thread.
Capabilities own_capabilities();
// The set that a program without file capabilities has after this process executed it. Root gets
// back what its bounding set allows; another user keeps the ambient set only.
Capabilities capabilities_after_exec();

// The number of the machine's root in this process's user namespace; nothing where it does not
// exist there, as in a rootless container.
std::optional<uid_t> host_root_uid();

}  // namespace hearth::os
