// native/cgroup.h: what a sandbox may use of the machine, counted and bounded by the kernel.
// Version 1 (a tree per controller), version 2 (one tree) and machines that have both.
#pragma once

#include "backend/sandbox.h"
#include "blueprint/sandbox_config.h"
#include "os/unique_fd.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace hearth::native {

// Where the kernel shows the controllers to this process.
struct CgroupMounts {
  enum class Version { none, v1, v2 } version = Version::none;
  // Our own group: v2 in `unified`; v1 one for each controller.
  std::filesystem::path unified;
  std::filesystem::path memory;
  std::filesystem::path pids;
  std::filesystem::path cpu;
  std::vector<std::string> missing;  // controllers that are nowhere
};
// A decision on the text of /proc/self/mountinfo and /proc/self/cgroup alone. Version 1 where it
// has any of the three controllers: then the tree of version 2 cannot have them all.
CgroupMounts find_cgroup_mounts(const std::string& mountinfo, const std::string& own_groups);

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;
  std::int64_t memory_and_swap_bytes = -1;  // -1: as much swap as there is
  std::uint64_t pids = 0;
  double cpu_cores = 0;
};
CgroupLimits cgroup_limits(const blueprint::ResourceLimits& limits);

// One sandbox's group, in every tree. Removed with the object; its processes must have ended.
class Cgroup {
 public:
  virtual ~Cgroup() = default;
  // Whoever writes "0" to each of these has joined.
  virtual std::vector<os::UniqueFd> open_for_joining() const = 0;
  virtual bool memory_limit_hit() const = 0;
  virtual backend::SandboxUsage usage() const = 0;
  // In every tree; their last two parts are the same, as in `hearth-0a1b2c/3d4e5f`.
  virtual const std::vector<std::filesystem::path>& directories() const = 0;
  // As /proc/<pid>/cgroup names those trees; version 2's has no name.
  virtual std::vector<std::string> controllers() const = 0;
};

// This process's part of the trees. Marked, in each, by a lock that the kernel drops when we end,
// however we end: what bears no lock was left by the dead, and is removed by whoever comes next.
class CgroupTree {
 public:
  // Throws Error with what is missing and how to mend it.
  explicit CgroupTree(const CgroupMounts& mounts);
  ~CgroupTree();
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;

  std::unique_ptr<Cgroup> make(const std::string& id, const CgroupLimits& limits) const;

 private:
  void make_own(const std::vector<std::filesystem::path>& bases);
  void remove_own();

  CgroupMounts mounts_;
  std::vector<std::filesystem::path> instance_;  // v1: memory, pids, cpu; v2: one
  std::vector<os::UniqueFd> locks_;              // of each
};

}  // namespace hearth::native
