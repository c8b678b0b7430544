// native/cgroup_mounts.h: where the kernel shows the cgroups of this process. Version 1 (a tree per
// controller), version 2 (one tree) and machines that have both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct CgroupMounts {
  enum class Version { none, v1, v2 } version = Version::none;
  // Our own group: v2 in `unified`; v1 one for each controller.
  std::filesystem::path unified;
  std::filesystem::path memory;
  std::filesystem::path pids;
  std::filesystem::path cpu;
  std::filesystem::path blkio;       // may be missing: only a limit of disk reads needs it
  std::vector<std::string> missing;  // controllers that are nowhere
};
// Decides on the text of /proc/self/mountinfo and /proc/self/cgroup alone. Chooses version 1 if it
// has any of the three controllers: then the tree of version 2 cannot have them all.
CgroupMounts find_cgroup_mounts(const std::string& mountinfo, const std::string& own_groups);

CgroupMounts own_cgroup_mounts();  // reads both files

// What all of this process's groups together may use at most; nothing if none of them is limited.
std::optional<std::uint64_t> own_memory_limit_bytes(const CgroupMounts& mounts);

}  // namespace hearth::native
