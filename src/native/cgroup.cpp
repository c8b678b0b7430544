#include "native/cgroup.h"

#include "backend/layout.h"
#include "base/error.h"
#include "base/log.h"
#include "blueprint/derived_limits.h"
#include "native/cgroup_files.h"
#include "os/disks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cmath>
#include <sstream>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

// Since Linux 5.15. A process outside such a group that wakes up preempts it at once.
bool write_idle(const fs::path& directory, bool yields) try {
  write_value(directory / "cpu.idle", yields ? "1" : "0");
  return true;
} catch (const OsError& error) {
  if (error.code == ENOENT) return false;
  throw;
}

// Older kernels: a smaller share instead.
void write_share(const fs::path& directory, bool yields) {
  constexpr int less = 4;
  std::error_code ignored;
  const bool is_v2 = fs::exists(directory / "cpu.weight", ignored);
  const int whole = is_v2 ? 100 : 1024;
  write_value(directory / (is_v2 ? "cpu.weight" : "cpu.shares"),
              std::to_string(yields ? whole / less : whole));
}

// What the kernel has not yet given back of a few processes.
constexpr std::uint64_t most_left_bytes = std::uint64_t{1} << 20;

std::uint64_t number_in(const fs::path& file) {
  std::uint64_t value = 0;
  std::istringstream(read_value(file)) >> value;
  return value;
}

// The limits of memory alone and with swap: the first may never be the larger, not even while they
// are being changed.
void write_memory_limits(const fs::path& directory, const CgroupLimits& limits) {
  const std::string most = std::to_string(limits.memory_bytes);
  const fs::path with_swap = directory / memory_and_swap_file;
  // Absent where the kernel does not count swap, which machine_facts.h tells of.
  const bool counts_swap = fs::exists(with_swap);
  if (counts_swap) write_value(with_swap, "-1");
  write_value(directory / "memory.limit_in_bytes", most);
  if (counts_swap) write_value(with_swap, std::to_string(limits.memory_bytes + limits.swap_bytes));
}

// The kernel counts the buffers of TCP and UDP beside memory, and without a limit not at all. It
// refuses one that is lower than what is in use.
void write_socket_limit(const fs::path& directory, const CgroupLimits& limits) {
  const fs::path file = directory / socket_limit_file;
  // Absent in kernels without it, which machine_facts.h tells of.
  if (!fs::exists(file)) return;
  write_value(file, std::to_string(blueprint::socket_buffer_bytes(limits.memory_bytes)));
}

std::string quota(double cores, const char* unlimited) {
  return cores > 0 ? std::to_string(std::lround(cores * cpu_period_us)) : unlimited;
}

std::vector<fs::path> each_with(const std::vector<fs::path>& parents, const std::string& name) {
  std::vector<fs::path> paths;
  for (const fs::path& parent : parents) paths.push_back(parent / name);
  return paths;
}

class CgroupV1 : public Cgroup {
 public:
  CgroupV1(const std::vector<fs::path>& instance, const std::string& name)
      : Cgroup(each_with(instance, name)) {}
  ~CgroupV1() override { remove_directories(); }

  std::vector<std::string> controllers() const override {
    std::vector<std::string> names{"memory", "pids", "cpu", "blkio"};
    names.resize(directories().size());
    return names;
  }

 private:
  // Not cgroup.procs: moving a whole process waits until no process in the system forks, which
  // takes milliseconds. A thread that moves only itself does not wait.
  const char* joining_file() const override { return "tasks"; }
  void write_limits(const CgroupLimits& limits, const CgroupLimits& before) const override {
    if (limits.memory_bytes != before.memory_bytes || limits.swap_bytes != before.swap_bytes)
      write_memory_limits(memory(), limits);
    if (limits.memory_bytes != before.memory_bytes) write_socket_limit(memory(), limits);
    if (limits.pids != before.pids)
      write_value(pids_directory() / "pids.max", std::to_string(limits.pids));
    // The period is what every kernel begins with.
    if (limits.cpu_cores != before.cpu_cores)
      write_value(cpu() / "cpu.cfs_quota_us", quota(limits.cpu_cores, "-1"));
  }
  fs::path cpu_directory() const override { return cpu(); }
  fs::path memory_directory() const override { return memory(); }
  // Lowering the limit makes the kernel reclaim.
  void reclaim_down_to(std::uint64_t bytes, const CgroupLimits& limits) const override {
    const fs::path file = memory() / "memory.limit_in_bytes";
    write_value(file, std::to_string(bytes));
    write_value(file, std::to_string(limits.memory_bytes));
  }
  fs::path pids_directory() const override { return directories()[1]; }
  void lift_cpu_quota() const override { write_value(cpu() / "cpu.cfs_quota_us", "-1"); }
  std::uint64_t oom_kills() const override {
    return value_of(read_value(memory() / "memory.oom_control"), "oom_kill");
  }
  std::uint64_t memory_bytes() const override {
    return number_in(memory() / "memory.usage_in_bytes");
  }
  double cpu_seconds() const override {
    return static_cast<double>(number_in(cpu() / "cpuacct.usage")) / 1e9;
  }

  const fs::path& memory() const { return directories()[0]; }
  const fs::path& cpu() const { return directories()[2]; }
};

class CgroupV2 : public Cgroup {
 public:
  CgroupV2(const fs::path& parent, const std::string& name) : Cgroup({parent / name}) {}
  ~CgroupV2() override { remove_directories(); }

  std::vector<std::string> controllers() const override { return {""}; }

 private:
  const char* joining_file() const override { return "cgroup.procs"; }
  void write_limits(const CgroupLimits& limits, const CgroupLimits& before) const override {
    if (limits.memory_bytes != before.memory_bytes)
      write_value(path() / "memory.max", std::to_string(limits.memory_bytes));
    if ((limits.memory_bytes != before.memory_bytes || limits.swap_bytes != before.swap_bytes) &&
        fs::exists(path() / swap_file))
      write_value(path() / swap_file, std::to_string(limits.swap_bytes));
    if (limits.pids != before.pids) write_value(path() / "pids.max", std::to_string(limits.pids));
    if (limits.cpu_cores != before.cpu_cores)
      write_value(path() / "cpu.max",
                  quota(limits.cpu_cores, "max") + " " + std::to_string(cpu_period_us));
  }
  void write_phase(Phase phase) const override {
    // One sandbox is one thing: when the kernel has to kill, nothing half dead goes on. But until
    // it executes init, its first process shares the zygote's memory, and would take it along.
    if (phase == Phase::isolating) write_value(path() / "memory.oom.group", "0");
    if (phase == Phase::preparing) write_value(path() / "memory.oom.group", "1");
  }
  fs::path cpu_directory() const override { return path(); }
  fs::path memory_directory() const override { return path(); }
  void reclaim_down_to(std::uint64_t bytes, const CgroupLimits& /*limits*/) const override {
    write_value(path() / "memory.high", std::to_string(bytes));
    write_value(path() / "memory.high", "max");
  }
  fs::path pids_directory() const override { return path(); }
  void lift_cpu_quota() const override { write_value(path() / "cpu.max", "max"); }
  std::uint64_t oom_kills() const override {
    return value_of(read_value(path() / "memory.events"), "oom_kill");
  }
  std::uint64_t memory_bytes() const override { return number_in(path() / "memory.current"); }
  double cpu_seconds() const override {
    return static_cast<double>(value_of(read_value(path() / "cpu.stat"), "usage_usec")) / 1e6;
  }

  const fs::path& path() const { return directories()[0]; }
};

}  // namespace

std::unique_ptr<Cgroup> make_cgroup(const std::vector<fs::path>& parents, const std::string& name) {
  if (parents.size() == 1) return std::make_unique<CgroupV2>(parents.front(), name);
  return std::make_unique<CgroupV1>(parents, name);
}

CgroupLimits cgroup_limits(const blueprint::ResourceLimits& limits) {
  CgroupLimits result;
  result.memory_bytes = static_cast<std::uint64_t>(limits.memory_mb) << 20;
  result.swap_bytes = static_cast<std::uint64_t>(blueprint::swap_mb(limits)) << 20;
  result.pids = static_cast<std::uint64_t>(limits.pids_limit + backend::layout::own_processes);
  result.cpu_cores = limits.cpu_quota;
  result.disk_read_bytes_per_sec = static_cast<std::uint64_t>(limits.disk_read_mb_per_sec) << 20;
  return result;
}

CgroupLimits loading_limits(const blueprint::ResourceLimits& limits) {
  CgroupLimits result;
  result.memory_bytes =
      static_cast<std::uint64_t>(std::max(limits.memory_mb, least_loading_memory_mb)) << 20;
  result.pids = static_cast<std::uint64_t>(std::max(limits.pids_limit, least_loading_pids));
  result.cpu_cores = std::max(limits.cpu_quota, 1.0);
  return result;
}

CgroupLimits serving_limits(const blueprint::ResourceLimits& limits) {
  CgroupLimits result = loading_limits(limits);
  result.memory_bytes *= 2;
  result.cpu_cores = 0;
  return result;
}

Cgroup::Cgroup(std::vector<fs::path> directories) : directories_(std::move(directories)) {
  for (std::size_t made = 0; made < directories_.size(); ++made) {
    if (::mkdir(directories_[made].c_str(), 0755) == 0) continue;
    const OsError error("make the cgroup " + directories_[made].string());
    while (made > 0) remove_directory(directories_[--made]);
    throw error;  // NOLINT(misc-throw-by-value-catch-by-reference)
  }
}

void Cgroup::remove_directories() const {
  if (!keeps_cache_) drop_cache(memory_directory());
  for (const fs::path& directory : directories_) remove_directory(directory);
}

void Cgroup::set_limits(const CgroupLimits& limits) {
  if (limits == limits_) return;
  // Half written, nothing is known of them, but that one is changed last.
  const CgroupLimits before = limits_;
  limits_ = {.disk_read_bytes_per_sec = before.disk_read_bytes_per_sec};
  write_limits(limits, before);
  // The last tree is the one for it.
  if (limits.disk_read_bytes_per_sec != before.disk_read_bytes_per_sec)
    os::limit_disk_reads(directories_.back(), limits.disk_read_bytes_per_sec);
  limits_ = limits;
}

void Cgroup::enter(Phase phase) {
  if (phase == phase_ && !is_late_) return;
  write_phase(phase);
  phase_ = phase;
  if (phase != Phase::preparing) is_late_ = false;
  yield(phase != Phase::ready && !is_late_);
}

void Cgroup::hurry() {
  is_late_ = true;
  yield(false);
}

void Cgroup::kill_processes() {
  hurry();
  make_room_to_exit();
  for (const fs::path& directory : directories_) kill_processes_of(directory);
}

void Cgroup::make_room_to_exit() try {
  if (std::exchange(limits_.disk_read_bytes_per_sec, 0) > 0)
    os::lift_disk_reads(directories_.back());
  // Zero: the next set_limits() writes both.
  limits_.pids = 0;
  limits_.cpu_cores = 0;
  write_value(pids_directory() / "pids.max", "0");
  lift_cpu_quota();
} catch (const OsError& error) {
  log::warning("cgroup limits were not lifted for its processes to exit",
               {{"error", error.what()}});
}

// A preference: where it cannot be had, nothing is less safe.
void Cgroup::yield(bool yields) try {
  if (yields == yields_) return;
  yields_.reset();
  if (!write_idle(cpu_directory(), yields)) write_share(cpu_directory(), yields);
  yields_ = yields;
} catch (const OsError& error) {
  log::debug("CPU share of a sandbox could not be changed", {{"error", error.what()}});
}

std::vector<os::UniqueFd> Cgroup::open_for_joining() const {
  std::vector<os::UniqueFd> files;
  for (const fs::path& directory : directories_) {
    const fs::path file = directory / joining_file();
    files.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!files.back()) throw OsError("open " + file.string());
  }
  return files;
}

backend::SandboxUsage Cgroup::usage() const {
  return {memory_bytes(), cpu_seconds() - cpu_seconds_before_};
}

std::uint64_t Cgroup::refused_forks() const {
  return value_of(read_value(pids_directory() / "pids.events"), "max");
}

bool Cgroup::has_cache_to_trim() const { return memory_bytes() > cache_kept_ + most_left_bytes; }

void Cgroup::trim_cache() try {
  // What remains is reclaimed when the next sandbox needs it; most of its memory is free at once.
  constexpr std::uint64_t part = 4;
  const std::uint64_t most = limits_.memory_bytes / part;
  if (cached_bytes(memory_directory()) > most) reclaim_down_to(most, limits_);
  cache_kept_ = cached_bytes(memory_directory());
} catch (const OsError& error) {
  limits_.memory_bytes = 0;  // unknown
  log::debug("page cache of a cgroup could not be reclaimed", {{"error", error.what()}});
}

Cgroup::Leftover Cgroup::begin_anew(const CgroupLimits& limits) {
  for (const fs::path& directory : directories_)
    if (!read_value(directory / "cgroup.procs").empty()) return Leftover::processes;
  // A process that exits is listed no more, but takes a place until its parent has reaped it.
  if (number_in(pids_directory() / "pids.current") > 0) return Leftover::processes;
  if (memory_bytes() > cache_kept_ + most_left_bytes) return Leftover::memory;
  // To lower the limit below what it holds would take the kernel a while.
  if (cache_kept_ > limits.memory_bytes / 2) return Leftover::memory;
  oom_kills_before_ = oom_kills();
  cpu_seconds_before_ = cpu_seconds();
  keeps_cache_ = false;
  return Leftover::none;
}

}  // namespace hearth::native
