// native/cgroup_tree.h: the place of this process in the cgroup trees, and the groups it gives to
// sandboxes.
#pragma once

#include "native/background_thread.h"
#include "native/cgroup.h"
#include "native/cgroup_mounts.h"
#include "os/unique_fd.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

// In each tree this process has one directory, marked by a lock that the kernel drops when the
// process exits, however it exits. A directory without a lock is a leftover; the next process
// removes it.
class CgroupTree {
 public:
  // Throws Error with what is missing and how to fix it.
  explicit CgroupTree(const CgroupMounts& mounts);
  ~CgroupTree();
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;

  // Groups are reused: a sandbox's group comes back when its processes have exited. Creating one is
  // cheap. Destroying one makes the kernel walk over all groups, which takes milliseconds if there
  // are thousands. The tree must outlive the lease.
  struct GiveBack {
    CgroupTree* tree = nullptr;
    void operator()(Cgroup* group) const { tree->give_back(std::unique_ptr<Cgroup>(group)); }
  };
  using Lease = std::unique_ptr<Cgroup, GiveBack>;
  Lease take(const CgroupLimits& limits);

  // Whether its groups have a limit of swap.
  bool limits_swap() const;
  // Why disk reads cannot be limited here; empty: they can.
  std::string disk_limit_problem() const;
  // Needed before the first group with such a limit; take() does it by itself. Throws Error.
  void enable_disk_limits();

 private:
  struct Spare {
    std::unique_ptr<Cgroup> group;
    std::chrono::steady_clock::time_point since;
  };

  std::size_t trees_for(const CgroupLimits& limits) const;
  std::unique_ptr<Cgroup> take_spare(const CgroupLimits& limits);
  void retire(std::unique_ptr<Cgroup> group);
  BackgroundThread& cleaner();
  void give_back(std::unique_ptr<Cgroup> group);
  void make_own(const std::vector<std::filesystem::path>& bases);
  void remove_own();

  CgroupMounts mounts_;
  std::vector<std::filesystem::path> instance_;  // v1: memory, pids, cpu, perhaps blkio; v2: one
  std::vector<os::UniqueFd> locks_;              // of each
  // By the number of trees they are in. The group that has been spare longest is first.
  std::map<std::size_t, std::deque<Spare>> spares_;
  bool disk_limits_enabled_ = false;
  std::uint64_t made_ = 0;
  // Reclaims page cache, which blocks. Started when there is some.
  std::optional<BackgroundThread> cleaner_;
};

}  // namespace hearth::native
