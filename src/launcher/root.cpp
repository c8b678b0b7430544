#include "launcher/root.h"

#include "base/error.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace hearth::launcher {
namespace {

const std::string new_root = "/new";
const std::string old_root = "/old";
// Where a mount is before it is moved to its target. No other process can reach them.
const std::string staged_directory = "/staged-directory";
const std::string staged_file = "/staged-file";

void check(int result, const std::string& step) {
  if (result != 0) throw OsError(step);
}

// A mount that was refused, most likely by the engine of the container around this process.
void check_allowed(int result, const std::string& step, const std::string& flag) {
  if (result == 0) return;
  const OsError error(step);
  if (error.code != EPERM && error.code != EACCES) throw error;
  throw Error(std::string(error.what()) + " (in a container: docker run --security-opt " + flag +
              "; docs/containers.md has them all)");
}

void mount_tmpfs(const std::string& path, const std::string& name, const std::string& options) {
  check(::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()),
        "mount a tmpfs on " + name);
}

// A path that leads to an open file or directory and nowhere else. mount(2) takes no descriptors.
std::string path_of(const os::UniqueFd& fd) {
  return old_root + "/proc/self/fd/" + std::to_string(fd.get());
}

os::UniqueFd open_directory(int parent, const std::string& name) {
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  return os::UniqueFd(::openat(parent, name.c_str(), flags));
}

bool is_link(int parent, const std::string& name) {
  struct stat facts{};
  return ::fstatat(parent, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(facts.st_mode);
}

// The directory `path` of the new root, created where it is missing. Follows no link: one on the
// way can only come from something that is mounted already, and leads wherever its author wants. By
// descriptors, because a directory in such a mount may be replaced by a link at any time.
os::UniqueFd make_directories(const std::string& path) {
  os::UniqueFd here = open_directory(AT_FDCWD, new_root);
  if (!here) throw OsError("open the new root");
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const std::string so_far = path.substr(0, end);
    begin = end + 1;
    if (name.empty()) continue;
    if (::mkdirat(here.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      throw OsError("make the directory " + so_far);
    os::UniqueFd next = open_directory(here.get(), name);
    if (!next) {
      const OsError error("open the directory " + so_far);
      if (!is_link(here.get(), name)) throw error;
      throw Error("mount at " + path + ": " + so_far + " is a link");
    }
    here = std::move(next);
  }
  return here;
}

struct Place {
  os::UniqueFd directory;
  std::string name;
};

Place make_place(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {make_directories(path.substr(0, slash)), path.substr(slash + 1)};
}

os::UniqueFd write_file(const std::string& path, const std::string& content) {
  const Place place = make_place(path);
  os::UniqueFd file(::openat(place.directory.get(), place.name.c_str(),
                             O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0644));
  if (!file ||
      ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    throw OsError("write " + path);
  return file;
}

void make_link(const std::string& path, const std::string& target) {
  const Place place = make_place(path);
  check(::symlinkat(target.c_str(), place.directory.get(), place.name.c_str()), "link " + path);
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

constexpr std::uint64_t file_flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// A read-only mount lets data be written to a device, but not its times, which belong to the host.
constexpr std::uint64_t device_flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;

// Only adds to the flags that the mount outside has: a user namespace may not remove any.
void restrict_mount(const std::string& path, const std::string& name, std::uint64_t flags) {
  mount_attr wanted{};
  wanted.attr_set = flags;
  check(::mount_setattr(AT_FDCWD, path.c_str(), AT_RECURSIVE, &wanted, sizeof wanted),
        "restrict the mount " + name);
}

os::UniqueFd find(const std::string& source) {
  os::UniqueFd found(::open(source.c_str(), O_PATH | O_CLOEXEC));
  if (!found) throw OsError("open " + source);
  return found;
}

// The host has judged this very path, which had no link. One that is there now has been put there
// since, by another user that can write to a directory on the way.
os::UniqueFd find_without_links(const std::string& source) {
  os::UniqueFd here = find("/");
  for (std::size_t begin = 1; begin < source.size();) {
    const std::size_t end = std::min(source.find('/', begin), source.size());
    const std::string name = source.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    here = os::UniqueFd(::openat(here.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts{};
    if (!here || ::fstat(here.get(), &facts) != 0) throw OsError("open " + source);
    if (S_ISLNK(facts.st_mode))
      throw Error("open " + source + ": " + source.substr(0, end) + " has become a link");
  }
  return here;
}

struct stat facts_of(const std::string& source, const os::UniqueFd& found) {
  struct stat facts{};
  if (::fstat(found.get(), &facts) != 0) throw OsError("look at " + source);
  return facts;
}

// The host refuses them, too, by their path. What the path leads to may have changed since.
void refuse_kernel_interface(const std::string& source, const os::UniqueFd& found) {
  struct statfs system{};
  if (::fstatfs(found.get(), &system) != 0) throw OsError("look at " + source);
  constexpr std::array<decltype(system.f_type), 9> kernel_interfaces = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
      SECURITYFS_MAGIC, TRACEFS_MAGIC, BPF_FS_MAGIC,       DEVPTS_SUPER_MAGIC};
  for (const auto one : kernel_interfaces)
    if (system.f_type == one) throw Error("bind " + source + ": it is an interface of the kernel");
  const mode_t mode = facts_of(source, found).st_mode;
  if (S_ISSOCK(mode) || S_ISCHR(mode) || S_ISBLK(mode))
    throw Error("bind " + source + ": it is a socket or a device");
}

// The mount is complete before it is moved to its target: nothing can redirect a later step of it.
void bind(const std::string& source, const os::UniqueFd& found, const std::string& target,
          std::uint64_t flags) {
  const struct stat before = facts_of(source, found);
  const bool is_directory = S_ISDIR(before.st_mode);
  const os::UniqueFd place = is_directory ? make_directories(target) : write_file(target, "");
  const std::string& staged = is_directory ? staged_directory : staged_file;
  check(::mount(path_of(found).c_str(), staged.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
        "bind " + source);
  struct stat after{};
  if (::stat(staged.c_str(), &after) != 0 || !same_file(before, after))
    throw Error("bind " + source + ": something else was mounted");
  restrict_mount(staged, target, flags);
  check(::mount(staged.c_str(), path_of(place).c_str(), nullptr, MS_MOVE, nullptr),
        "mount " + source + " at " + target);
}

constexpr std::array devices = {"null", "zero", "full", "random", "urandom", "tty"};

struct SourceFinder {
  std::vector<os::UniqueFd>& sources;
  void operator()(const Bind& step) const {
    sources.push_back(step.follows_links ? find(step.source) : find_without_links(step.source));
  }
  void operator()(const Devices& /*step*/) const {
    for (const std::string name : devices) sources.push_back(find("/dev/" + name));
  }
  void operator()(const auto& /*step*/) const {}
};

struct StepMaker {
  std::vector<os::UniqueFd>::const_iterator source;  // of the next bind
  void operator()(const Bind& step) {
    refuse_kernel_interface(step.source, *source);
    bind(step.source, *source++, step.target, file_flags | (step.writable ? 0 : MOUNT_ATTR_RDONLY));
  }
  void operator()(const Directory& step) const { make_directories(step.path); }
  void operator()(const Symlink& step) const { make_link(step.path, step.target); }
  void operator()(const File& step) const { write_file(step.path, step.content); }
  void operator()(const Scratch& step) const {
    constexpr std::uint64_t files_per_megabyte = 256;  // each costs the kernel a kilobyte
    mount_tmpfs(path_of(make_directories(step.path)), step.path,
                "mode=1777,size=" + std::to_string(step.megabytes) +
                    "m,nr_inodes=" + std::to_string(step.megabytes * files_per_megabyte));
  }
  void operator()(const Devices& /*step*/) {
    for (const std::string name : devices)
      bind("/dev/" + name, *source++, "/dev/" + name, device_flags);
    make_directories("/dev/shm");
    make_directories("/dev/pts");  // each sandbox has terminals of its own
    make_link("/dev/ptmx", "pts/ptmx");
    make_link("/dev/fd", "/proc/self/fd");
    make_link("/dev/stdin", "/proc/self/fd/0");
    make_link("/dev/stdout", "/proc/self/fd/1");
    make_link("/dev/stderr", "/proc/self/fd/2");
  }
};

// An empty file system becomes the root, so that it hides nothing that is to be mounted.
void enter_empty_root() {
  const std::string place = "/tmp";
  check_allowed(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
                "make all mounts private", "apparmor=unconfined");
  mount_tmpfs(place, place, "mode=0755,size=1m");
  for (const std::string& directory : {new_root, old_root, staged_directory})
    check(::mkdir((place + directory).c_str(), 0755), "make the directory " + directory);
  check_allowed(
      static_cast<int>(::syscall(SYS_pivot_root, place.c_str(), (place + old_root).c_str())),
      "make an empty root", "seccomp=unconfined");
  check(::chdir("/"), "enter the empty root");
  const os::UniqueFd file(::open(staged_file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) throw OsError("write " + staged_file);
}

}  // namespace

std::vector<os::UniqueFd> open_sources(const std::vector<Step>& steps) {
  std::vector<os::UniqueFd> sources;
  for (const Step& step : steps) std::visit(SourceFinder{sources}, step);
  return sources;
}

void build_root(const std::vector<Step>& steps, const std::vector<os::UniqueFd>& sources) {
  enter_empty_root();
  mount_tmpfs(new_root, "the new root", "mode=0755,size=4m");
  make_directories("/proc");
  StepMaker maker{sources.begin()};
  for (const Step& step : steps) std::visit(maker, step);
}

void enter_root() {
  // Mounts from a more privileged namespace are locked. Their copy is not.
  check(::mount(new_root.c_str(), new_root.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
        "bind the new root");
  check(::chdir(new_root.c_str()), "enter the new root");
  // The kernel refuses this unless another /proc, that of the old root, is fully visible.
  check_allowed(::mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
                "mount /proc", "systempaths=unconfined");
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  check(::mount_setattr(AT_FDCWD, ".", 0, &read_only, sizeof read_only),
        "make the new root read-only");
  check(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "make the new root the root");
  check(::umount2(".", MNT_DETACH), "leave the old root");
  check(::chdir("/"), "stand in the new root");
}

}  // namespace hearth::launcher
