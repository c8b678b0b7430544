#include "native/cgroup.h"

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "os/read_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;
using Version = CgroupMounts::Version;

constexpr std::string_view prefix = "hearth-";
constexpr int cpu_period_us = 100'000;

void write_value(const fs::path& file, const std::string& value) {
  const os::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    throw OsError("write \"" + value + "\" to " + file.string());
}

std::string read_value(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The number behind `key` in lines of "key number".
std::uint64_t value_of(const std::string& text, std::string_view key) {
  std::istringstream stream(text);
  std::uint64_t value = 0;
  for (std::string word; stream >> word >> value;)
    if (word == key) return value;
  return 0;
}

std::uint64_t number_in(const fs::path& file) {
  std::uint64_t value = 0;
  std::istringstream(read_value(file)) >> value;
  return value;
}

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0) throw OsError("make the cgroup " + path.string());
}

// The last process may be on its way out for a moment longer than its parent knew.
void remove_directory(const fs::path& path) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
    if (errno != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log::warning("a cgroup could not be removed",
               {{"path", path.string()}, {"error", std::strerror(errno)}});
}

void kill_processes_of(const fs::path& path) {
  // One write where the kernel has it (5.14, in trees of version 2).
  if (const os::UniqueFd kill_file(::open((path / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
      kill_file && ::write(kill_file.get(), "1", 1) == 1)
    return;
  std::ifstream processes(path / "cgroup.procs");
  for (pid_t pid = 0; processes >> pid;)
    if (pid > 1) ::kill(pid, SIGKILL);
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
  kill_processes_of(path);
  remove_directory(path);
}

os::UniqueFd try_lock(const fs::path& directory) {
  os::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

std::vector<fs::path> bases_of(const CgroupMounts& mounts) {
  if (mounts.version == Version::v2) return {mounts.unified};
  return {mounts.memory, mounts.pids, mounts.cpu};
}

// The groups in which an instance may have left something: our own, and those beside it, as a
// service that is started anew, or another login, gets a group of another name.
std::vector<fs::path> haunts_of(const fs::path& base) {
  std::vector<fs::path> haunts{base};
  if (fs::exists(base.parent_path() / "cgroup.procs")) haunts = children_of(base.parent_path());
  return haunts;
}

void remove_leftovers(const fs::path& base) {
  for (const fs::path& haunt : haunts_of(base))
    for (const fs::path& found : children_of(haunt)) {
      if (!found.filename().string().starts_with(prefix)) continue;
      if (::access(haunt.c_str(), W_OK) != 0) continue;  // another user's
      const os::UniqueFd lock = try_lock(found);
      if (!lock) continue;
      log::info("removing what an earlier instance left", {{"cgroup", found.string()}});
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

class CgroupV1 : public Cgroup {
 public:
  CgroupV1(const std::vector<fs::path>& instance, const std::string& id,
           const CgroupLimits& limits) {
    try {
      for (const fs::path& parent : instance) {
        make_directory(parent / id);
        directories_.push_back(parent / id);
      }
      write_value(memory() / "memory.limit_in_bytes", std::to_string(limits.memory_bytes));
      // Absent where the kernel does not count swap; then there is none to be had or no limit.
      if (limits.memory_and_swap_bytes >= 0 && fs::exists(memory() / "memory.memsw.limit_in_bytes"))
        write_value(memory() / "memory.memsw.limit_in_bytes",
                    std::to_string(limits.memory_and_swap_bytes));
      write_value(directories_[1] / "pids.max", std::to_string(limits.pids));
      write_value(directories_[2] / "cpu.cfs_period_us", std::to_string(cpu_period_us));
      write_value(directories_[2] / "cpu.cfs_quota_us",
                  std::to_string(std::lround(limits.cpu_cores * cpu_period_us)));
    } catch (...) {
      for (const fs::path& made : directories_) remove_directory(made);
      throw;
    }
  }
  ~CgroupV1() override {
    for (const fs::path& directory : directories_) remove_directory(directory);
  }

  std::vector<os::UniqueFd> open_for_joining() const override {
    std::vector<os::UniqueFd> files;
    for (const fs::path& directory : directories_) {
      // Not cgroup.procs: a thread that moves only itself does not have to wait until nobody in the
      // whole system forks, which takes milliseconds.
      files.emplace_back(::open((directory / "tasks").c_str(), O_WRONLY | O_CLOEXEC));
      if (!files.back()) throw OsError("open " + (directory / "tasks").string());
    }
    return files;
  }
  bool memory_limit_hit() const override {
    return value_of(read_value(memory() / "memory.oom_control"), "oom_kill") > 0;
  }
  backend::SandboxUsage usage() const override {
    backend::SandboxUsage usage;
    usage.memory_bytes = number_in(memory() / "memory.usage_in_bytes");
    usage.peak_memory_bytes = number_in(memory() / "memory.max_usage_in_bytes");
    usage.cpu_seconds = static_cast<double>(number_in(directories_[2] / "cpuacct.usage")) / 1e9;
    return usage;
  }
  const std::vector<fs::path>& directories() const override { return directories_; }
  std::vector<std::string> controllers() const override { return {"memory", "pids", "cpu"}; }

 private:
  const fs::path& memory() const { return directories_[0]; }
  std::vector<fs::path> directories_;  // memory, pids, cpu
};

class CgroupV2 : public Cgroup {
 public:
  CgroupV2(const fs::path& parent, const std::string& id, const CgroupLimits& limits)
      : directories_{parent / id} {
    make_directory(path());
    try {
      write_value(path() / "memory.max", std::to_string(limits.memory_bytes));
      if (limits.memory_and_swap_bytes >= 0 && fs::exists(path() / "memory.swap.max"))
        write_value(path() / "memory.swap.max",
                    std::to_string(limits.memory_and_swap_bytes -
                                   static_cast<std::int64_t>(limits.memory_bytes)));
      // One sandbox is one thing: when the kernel has to kill, nothing half dead goes on.
      write_value(path() / "memory.oom.group", "1");
      write_value(path() / "pids.max", std::to_string(limits.pids));
      write_value(path() / "cpu.max",
                  std::to_string(std::lround(limits.cpu_cores * cpu_period_us)) + " " +
                      std::to_string(cpu_period_us));
    } catch (...) {
      remove_directory(path());
      throw;
    }
  }
  ~CgroupV2() override { remove_directory(path()); }

  std::vector<os::UniqueFd> open_for_joining() const override {
    std::vector<os::UniqueFd> files;
    files.emplace_back(::open((path() / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!files.back()) throw OsError("open " + (path() / "cgroup.procs").string());
    return files;
  }
  bool memory_limit_hit() const override {
    return value_of(read_value(path() / "memory.events"), "oom_kill") > 0;
  }
  backend::SandboxUsage usage() const override {
    backend::SandboxUsage usage;
    usage.memory_bytes = number_in(path() / "memory.current");
    usage.peak_memory_bytes = number_in(path() / "memory.peak");
    usage.cpu_seconds =
        static_cast<double>(value_of(read_value(path() / "cpu.stat"), "usage_usec")) / 1e6;
    return usage;
  }
  const std::vector<fs::path>& directories() const override { return directories_; }
  std::vector<std::string> controllers() const override { return {""}; }

 private:
  const fs::path& path() const { return directories_[0]; }
  std::vector<fs::path> directories_;
};

bool has_controllers(const fs::path& group, const char* file) {
  const std::string text = " " + read_value(group / file);
  for (const std::string name : {" memory", " pids", " cpu"})
    if (text.find(name + " ") == std::string::npos && text.find(name + "\n") == std::string::npos)
      return false;
  return true;
}

void enable_controllers(const fs::path& group) {
  write_value(group / "cgroup.subtree_control", "+memory +pids +cpu");
}

// Into a group of our own below `group`, in which nobody but us may live: then it is free for
// groups with limits. If others live there it is not ours to change, and we go back.
std::string step_aside_in(const fs::path& group) {
  const fs::path aside = group / "hearth.self";
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
      log::debug("cannot return to the group we came from", {{"cgroup", group.string()}});
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
  std::string obstacles;
  for (fs::path group = own; fs::exists(group / "cgroup.procs"); group = group.parent_path()) {
    std::string obstacle;
    if (::access(group.c_str(), W_OK) == 0) {
      obstacle = obstacle_in(group, group == own);
      if (obstacle.empty()) return group;
    } else if (group == own) {
      obstacle = std::string("may not be written (") + std::strerror(errno) + ")";
    }
    if (!obstacle.empty())
      obstacles += (obstacles.empty() ? "" : "; ") + group.string() + " " + obstacle;
  }
  throw Error(
      "no cgroup of version 2 can be used: " + obstacles +
      ". Hearth needs a group to itself, with the controllers memory, pids and cpu: as a service "
      "with Delegate=yes, or started with systemd-run --user --scope -p Delegate=yes");
}

}  // namespace

CgroupLimits cgroup_limits(const blueprint::ResourceLimits& limits) {
  // Init, the harness, the holder of a worker's memory and the process between two forks.
  constexpr std::uint64_t own_processes = 4;
  CgroupLimits result;
  result.memory_bytes = static_cast<std::uint64_t>(limits.memory_mb) << 20;
  if (limits.memory_swap_mb >= 0)
    result.memory_and_swap_bytes = std::max(limits.memory_swap_mb, limits.memory_mb) << 20;
  result.pids = static_cast<std::uint64_t>(limits.pids_limit) + own_processes;
  result.cpu_cores = limits.cpu_quota;
  return result;
}

CgroupTree::CgroupTree(const CgroupMounts& mounts) : mounts_(mounts) {
  if (!mounts.missing.empty() || mounts.version == Version::none) {
    std::string list;
    for (const std::string& name : mounts.missing) list += (list.empty() ? "" : ", ") + name;
    throw Error("the cgroup controllers are not mounted: " + list);
  }
  if (mounts_.version == Version::v2) mounts_.unified = usable_v2_base(mounts_.unified);
  const std::vector<fs::path> bases = bases_of(mounts_);
  for (const fs::path& base : bases) remove_leftovers(base);
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
  const std::string name = std::string(prefix) + random_id().substr(0, 12);
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

CgroupTree::~CgroupTree() { remove_own(); }

std::unique_ptr<Cgroup> CgroupTree::make(const std::string& id, const CgroupLimits& limits) const {
  if (mounts_.version == Version::v2)
    return std::make_unique<CgroupV2>(instance_.front(), id, limits);
  return std::make_unique<CgroupV1>(instance_, id, limits);
}

}  // namespace hearth::native
