#include "native/cgroup_tree.h"

#include "base/error.h"
#include "base/id.h"
#include "base/joined.h"
#include "base/log.h"
#include "native/cgroup_files.h"
#include "os/disks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;
using Version = CgroupMounts::Version;

// The name of an instance's group: `hearth-` and so many hexadecimal digits. Others may have groups
// that begin like it: a service is called as its unit is.
constexpr std::string_view prefix = "hearth-";
constexpr std::size_t digits_of_name = 12;

bool is_name_of_instance(std::string_view name) {
  return name.starts_with(prefix) && name.size() == prefix.size() + digits_of_name &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

// One that this process may not look at is none to it.
bool is_group(const fs::path& directory) {
  std::error_code refused;
  return fs::exists(directory / "cgroup.procs", refused);
}

bool is_above(const fs::path& group, const fs::path& other) {
  const fs::path way = other.lexically_relative(group);
  return !way.empty() && *way.begin() != "..";
}

// A process that can open a directory can hold its lock, so that it looks alive for ever.
void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0) throw OsError("make the cgroup " + path.string());
}

std::vector<fs::path> children_of(const fs::path& path) {
  std::vector<fs::path> children;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
    if (entry.is_directory(error)) children.push_back(entry.path());
  return children;
}

void remove_tree(const fs::path& path) {
  for (const fs::path& child : children_of(path)) remove_tree(child);
  os::lift_disk_reads(path);
  kill_processes_of(path);
  remove_directory(path);
}

os::UniqueFd try_lock(const fs::path& directory) {
  os::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

// In version 1: memory, pids and cpu. The fourth is for groups whose disk reads are limited.
constexpr std::size_t usual_trees = 3;

bool may_write(const fs::path& group) { return ::access(group.c_str(), W_OK) == 0; }

std::vector<fs::path> bases_of(const CgroupMounts& mounts) {
  if (mounts.version == Version::v2) return {mounts.unified};
  std::vector<fs::path> bases{mounts.memory, mounts.pids, mounts.cpu};
  if (may_write(mounts.blkio)) bases.push_back(mounts.blkio);
  return bases;
}

// The groups in which an instance may have left something: our own, those beside it, as a service
// that is started anew, or another login, gets a group of another name, and those above, to which
// an instance goes when its own has no controllers.
std::vector<fs::path> haunts_of(const fs::path& base) {
  std::vector<fs::path> haunts{base};
  fs::path above = base.parent_path();
  if (is_group(above)) haunts = children_of(above);
  for (; is_group(above); above = above.parent_path()) haunts.push_back(above);
  return haunts;
}

// `own`: the groups we live in, which may be below `base`.
void remove_leftovers(const fs::path& base, const std::vector<fs::path>& own) {
  for (const fs::path& haunt : haunts_of(base))
    for (const fs::path& found : children_of(haunt)) {
      if (!is_name_of_instance(found.filename().string())) continue;
      if (std::any_of(own.begin(), own.end(),
                      [&](const fs::path& group) { return is_above(found, group); }))
        continue;
      if (::access(haunt.c_str(), W_OK) != 0) continue;  // another user's
      const os::UniqueFd lock = try_lock(found);
      if (!lock) continue;
      log::info("cgroup of an earlier process is removed", {{"cgroup", found.string()}});
      remove_tree(found);
    }
}

// False when another instance, which starts at the same time, took it for a leftover before it was
// locked.
bool make_and_lock(const fs::path& path, std::vector<os::UniqueFd>& locks) {
  make_directory(path);
  locks.push_back(try_lock(path));
  // The lock may be that of a directory that has just been removed.
  return locks.back() && fs::exists(path);
}

bool has_controllers(const fs::path& group, const char* file,
                     const std::vector<std::string>& wanted = {"memory", "pids", "cpu"}) {
  const std::string text = " " + read_value(group / file);
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return text.find(" " + name + " ") != std::string::npos ||
           text.find(" " + name + "\n") != std::string::npos;
  });
}

void enable_controllers(const fs::path& group) {
  write_value(group / "cgroup.subtree_control", "+memory +pids +cpu");
}

constexpr const char* no_throttling =
    "this kernel cannot limit disk reads (CONFIG_BLK_DEV_THROTTLING)";

constexpr const char* aside_name = "hearth.self";

// Moves this process into a new group below `group`, which is then free for groups with limits.
// That needs `group` to hold no other process; if it does, this process moves back.
std::string step_aside_in(const fs::path& group) {
  const fs::path aside = group / aside_name;
  std::error_code ignored;
  fs::create_directory(aside, ignored);
  try {
    write_value(aside / "cgroup.procs", "0");
    enable_controllers(group);
    return {};
  } catch (const OsError& error) {
    try {
      write_value(group / "cgroup.procs", "0");
    } catch (const OsError&) {
      log::debug("process cannot return to its former cgroup", {{"cgroup", group.string()}});
    }
    ::rmdir(aside.c_str());
    return error.code == EBUSY ? "holds other processes" : error.what();
  }
}

// Why groups with limits cannot be made in `group`; nothing when they can. Version 2 lets a group,
// other than the root, hold processes or groups with limits, not both.
std::string obstacle_in(const fs::path& group, bool is_own) {
  if (has_controllers(group, "cgroup.subtree_control")) return {};
  if (!has_controllers(group, "cgroup.controllers")) return "lacks controllers";
  try {
    enable_controllers(group);
    return {};
  } catch (const OsError& error) {
    if (error.code != EBUSY) return error.what();
  }
  // From another group our leaving would not help.
  return is_own ? step_aside_in(group) : "holds other processes";
}

// Our own group, or any above it that we may use.
fs::path usable_v2_base(const fs::path& own) {
  std::vector<std::string> obstacles;
  // A process that has stepped aside before can use the group above.
  const fs::path lowest = own.filename() == aside_name ? own.parent_path() : own;
  for (fs::path group = lowest; is_group(group); group = group.parent_path()) {
    std::string obstacle;
    if (::access(group.c_str(), W_OK) == 0) {
      obstacle = obstacle_in(group, group == own);
      if (obstacle.empty()) return group;
    } else if (group == own) {
      obstacle = std::string("may not be written (") + std::strerror(errno) + ")";
    }
    if (!obstacle.empty()) obstacles.push_back(group.string() + " " + obstacle);
  }
  if (obstacles.empty()) obstacles.push_back(own.string() + " cannot be looked at");
  throw Error(
      "no cgroup of version 2 can be used: " + joined(obstacles, "; ") +
      ". Hearth needs a group to itself, with the controllers memory, pids and cpu: as a service "
      "with Delegate=yes, or started with systemd-run --user --scope -p Delegate=yes");
}

}  // namespace

CgroupTree::CgroupTree(const CgroupMounts& mounts) : mounts_(mounts) {
  if (!mounts.missing.empty() || mounts.version == Version::none) {
    throw Error("the cgroup controllers are not mounted: " + joined(mounts.missing, ", "));
  }
  if (mounts_.version == Version::v2) mounts_.unified = usable_v2_base(mounts_.unified);
  const std::vector<fs::path> bases = bases_of(mounts_);
  // The last first: it may limit the disk reads that processes of the others wait for.
  for (auto base = bases.rbegin(); base != bases.rend(); ++base)
    remove_leftovers(*base, bases_of(mounts));
  constexpr int attempts = 1000;
  try {
    for (int attempt = 0; instance_.empty(); ++attempt) {
      if (attempt == attempts)
        throw Error("other instances remove what is made in " + bases.front().string());
      make_own(bases);
    }
    if (mounts_.version == Version::v2) enable_controllers(instance_.front());
  } catch (...) {
    remove_own();
    throw;
  }
}

void CgroupTree::make_own(const std::vector<fs::path>& bases) {
  const std::string name = std::string(prefix) + random_id().substr(0, digits_of_name);
  for (const fs::path& base : bases) {
    const bool is_ours = make_and_lock(base / name, locks_);
    instance_.push_back(base / name);
    if (!is_ours) return remove_own();
  }
}

void CgroupTree::remove_own() {
  for (const fs::path& directory : instance_) remove_tree(directory);
  instance_.clear();
  locks_.clear();
}

CgroupTree::~CgroupTree() {
  cleaner_.reset();
  spares_.clear();
  remove_own();
}

bool CgroupTree::limits_swap() const {
  const bool is_v2 = mounts_.version == Version::v2;
  return fs::exists(instance_.front() / (is_v2 ? swap_file : memory_and_swap_file));
}

std::string CgroupTree::disk_limit_problem() const {
  if (mounts_.version == Version::v2)
    return has_controllers(mounts_.unified, "cgroup.controllers", {"io"})
               ? ""
               : "the cgroup " + mounts_.unified.string() + " lacks the controller io";
  if (mounts_.blkio.empty()) return "the cgroup controller blkio is not mounted";
  if (instance_.size() == usual_trees)
    return "the cgroup " + mounts_.blkio.string() + " may not be written";
  return fs::exists(instance_.back() / os::disk_limit_file_v1) ? "" : no_throttling;
}

void CgroupTree::enable_disk_limits() {
  if (disk_limits_enabled_) return;
  if (const std::string problem = disk_limit_problem(); !problem.empty()) throw Error(problem);
  if (mounts_.version == Version::v2) {
    for (const fs::path& group : {mounts_.unified, instance_.front()})
      write_value(group / "cgroup.subtree_control", "+io");
    if (!fs::exists(instance_.front() / os::disk_limit_file_v2)) throw Error(no_throttling);
  }
  disk_limits_enabled_ = true;
}

std::size_t CgroupTree::trees_for(const CgroupLimits& limits) const {
  return limits.disk_read_bytes_per_sec > 0 ? instance_.size()
                                            : std::min(instance_.size(), usual_trees);
}

CgroupTree::Lease CgroupTree::take(const CgroupLimits& limits) {
  if (limits.disk_read_bytes_per_sec > 0) enable_disk_limits();
  std::unique_ptr<Cgroup> group = take_spare(limits);
  if (!group) {
    std::vector<fs::path> parents = instance_;
    parents.resize(trees_for(limits));
    group = make_cgroup(parents, std::to_string(++made_));
  }
  group->set_limits(limits);
  group->enter(Cgroup::Phase::isolating);
  return {group.release(), GiveBack{this}};
}

std::unique_ptr<Cgroup> CgroupTree::take_spare(const CgroupLimits& limits) {
  // The kernel hands out CPU time by periods: a sandbox that reuses a group at once would pay for
  // what the last one used.
  constexpr auto rest = std::chrono::microseconds(cpu_period_us);
  const auto now = std::chrono::steady_clock::now();
  std::deque<Spare>& spares = spares_[trees_for(limits)];
  while (!spares.empty() && now - spares.front().since >= rest) {
    std::unique_ptr<Cgroup> group = std::move(spares.front().group);
    spares.pop_front();
    const Cgroup::Leftover left = group->begin_anew(limits);
    if (left == Cgroup::Leftover::none) return group;
    // A zygote exits a moment after its owner released it. Removing its group would have to wait.
    if (left == Cgroup::Leftover::processes) {
      spares.push_back({std::move(group), now});
    } else {
      retire(std::move(group));
    }
  }
  return nullptr;
}

void CgroupTree::give_back(std::unique_ptr<Cgroup> group) {
  // Each costs the kernel some memory.
  constexpr std::size_t most_spares = 256;
  std::deque<Spare>& spares = spares_[group->directories().size()];
  if (spares.size() < most_spares)
    spares.push_back({std::move(group), std::chrono::steady_clock::now()});
  else
    retire(std::move(group));
}

BackgroundThread& CgroupTree::cleaner() {
  if (!cleaner_) cleaner_.emplace();
  return *cleaner_;
}

// Its page cache is dropped before it is removed, which blocks.
void CgroupTree::retire(std::unique_ptr<Cgroup> group) {
  boost::asio::post(cleaner().pool(), [retired = std::move(group)] {});
}

}  // namespace hearth::native
