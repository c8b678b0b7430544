// native/cgroup.h: what a sandbox may use of the machine, counted and limited by the kernel. The
// same for version 1 (a tree per controller) and version 2 (one tree).
#pragma once

#include "backend/sandbox.h"
#include "blueprint/sandbox_config.h"
#include "os/unique_fd.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t swap_bytes = 0;  // beside memory; 0: nothing is swapped out
  std::uint64_t pids = 0;
  double cpu_cores = 0;                       // 0: as many as there are
  std::uint64_t disk_read_bytes_per_sec = 0;  // of each disk; 0: as fast as it is

  bool operator==(const CgroupLimits&) const = default;
};
CgroupLimits cgroup_limits(const blueprint::ResourceLimits& limits);

// What loading an environment may use at most: what its sandboxes may, but no less than imports of
// large packages need.
inline constexpr std::int64_t least_loading_memory_mb = 512;
inline constexpr std::int64_t least_loading_pids = 512;
CgroupLimits loading_limits(const blueprint::ResourceLimits& limits);
// The same for the zygote afterwards. It has to have room for its twins, and for its memory in
// large pages; and it makes sandboxes on every processor.
CgroupLimits serving_limits(const blueprint::ResourceLimits& limits);

// One sandbox's group, in every tree.
class Cgroup {
 public:
  virtual ~Cgroup() = default;

  // Writes what differs from before.
  void set_limits(const CgroupLimits& limits);
  const CgroupLimits& limits() const { return limits_; }
  // In all phases but `ready`, processes outside the group get the CPU first.
  enum class Phase { isolating, preparing, ready, ending };
  void enter(Phase phase);  // the last two never fail
  // Stops giving way: on a machine that is never idle the sandbox would never get CPU time. Callers
  // that need another worker from the same zygote would wait with it.
  void hurry();
  static constexpr std::chrono::milliseconds patience{50};
  // Kills every process in it. Lifts the CPU quota and the limit of disk reads first, as a process
  // needs CPU time to exit and waits for what it reads, and refuses new processes. The next
  // set_limits() sets all of them again. Repeat it while processes are left: it may
  // miss one that was just being forked. Never fails.
  void kill_processes();
  // A process that writes "0" to each of these has joined.
  std::vector<os::UniqueFd> open_for_joining() const;
  // Since it was given to this sandbox.
  bool memory_limit_hit() const { return oom_kills() > oom_kills_before_; }
  // Since the group was made: processes and threads that the limit refused.
  std::uint64_t refused_forks() const;
  backend::SandboxUsage usage() const;

  // In every tree; their last two parts are the same, as in `hearth-0a1b2c/7`.
  const std::vector<std::filesystem::path>& directories() const { return directories_; }
  // As /proc/<pid>/cgroup names those trees; version 2's has no name.
  virtual std::vector<std::string> controllers() const = 0;

  // Page cache of files that its processes were the first to read is charged to it after they have
  // exited. True if it may be more than trim_cache() left.
  bool has_cache_to_trim() const;
  // Reclaims most of it, and notes the rest. Blocks for as long as the kernel needs.
  void trim_cache();

  // For a zygote: Python's own files stay in memory for the next one, which reads no others.
  void keep_cache() { keeps_cache_ = true; }

  // What is left of the group's last owner, beside such page cache. If nothing is, it counts anew.
  enum class Leftover { none, memory, processes };
  Leftover begin_anew(const CgroupLimits& limits);

 protected:
  // Makes the directories.
  explicit Cgroup(std::vector<std::filesystem::path> directories);
  void remove_directories() const;

  virtual const char* joining_file() const = 0;
  virtual void write_limits(const CgroupLimits& limits, const CgroupLimits& before) const = 0;
  virtual void write_phase(Phase /*phase*/) const {}
  virtual std::filesystem::path cpu_directory() const = 0;
  virtual std::filesystem::path pids_directory() const = 0;
  virtual void lift_cpu_quota() const = 0;
  virtual std::filesystem::path memory_directory() const = 0;
  virtual void reclaim_down_to(std::uint64_t bytes, const CgroupLimits& limits) const = 0;
  virtual std::uint64_t oom_kills() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
  virtual double cpu_seconds() const = 0;

 private:
  void yield(bool yields);
  void make_room_to_exit();

  std::vector<std::filesystem::path> directories_;
  CgroupLimits limits_;
  std::optional<Phase> phase_;
  bool is_late_ = false;
  std::optional<bool> yields_;
  std::uint64_t cache_kept_ = 0;
  std::uint64_t oom_kills_before_ = 0;
  bool keeps_cache_ = false;
  double cpu_seconds_before_ = 0;
};

// In each of these: those of memory, pids, cpu and perhaps blkio in version 1, or the one of
// version 2.
std::unique_ptr<Cgroup> make_cgroup(const std::vector<std::filesystem::path>& parents,
                                    const std::string& name);

}  // namespace hearth::native
