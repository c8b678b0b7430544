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

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

namespace hearth::launcher {
namespace {

const std::string new_root = "/new";
const std::string old_root = "/old";

void check(int result, const std::string& step) {
  if (result != 0) throw OsError(step);
}

// A mount that was refused, most likely by the engine of a container that we are in.
void check_allowed(int result, const std::string& step, const std::string& flag) {
  if (result == 0) return;
  const OsError error(step);
  if (error.code != EPERM && error.code != EACCES) throw error;
  throw Error(std::string(error.what()) + " (in a container: docker run --security-opt " + flag +
              "; docs/containers.md has them all)");
}

void mount_tmpfs(const std::string& path, const char* options) {
  check(::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options),
        "mount a tmpfs on " + path);
}

void make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST)
      throw OsError("make the directory " + part);
    if (slash == std::string::npos) return;
  }
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void write_file(const std::string& path, const std::string& content) {
  make_directories(parent_of(path));
  const os::UniqueFd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0644));
  if (!file ||
      ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    throw OsError("write " + path);
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

constexpr std::uint64_t of_files = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Data can be written to a device on a read-only mount, but its times belong to the host.
constexpr std::uint64_t of_devices = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;

// Later flags only add to what the mount outside has: a user namespace may not take any away.
void restrict_mount(const std::string& path, std::uint64_t flags) {
  mount_attr wanted{};
  wanted.attr_set = flags;
  check(::mount_setattr(AT_FDCWD, path.c_str(), AT_RECURSIVE, &wanted, sizeof wanted),
        "restrict the mount " + path);
}

os::UniqueFd find(const std::string& source) {
  os::UniqueFd found(::open(source.c_str(), O_PATH | O_CLOEXEC));
  if (!found) throw OsError("open " + source);
  return found;
}

// Also refused by the host, which looks at a path; what it leads to may have changed since.
void refuse_kernel_interface(const std::string& source, const os::UniqueFd& found) {
  struct statfs system{};
  struct stat facts{};
  if (::fstatfs(found.get(), &system) != 0 || ::fstat(found.get(), &facts) != 0)
    throw OsError("look at " + source);
  constexpr std::array<decltype(system.f_type), 9> kernel_interfaces = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
      SECURITYFS_MAGIC, TRACEFS_MAGIC, BPF_FS_MAGIC,       DEVPTS_SUPER_MAGIC};
  for (const auto one : kernel_interfaces)
    if (system.f_type == one) throw Error("bind " + source + ": it is an interface of the kernel");
  if (S_ISSOCK(facts.st_mode) || S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))
    throw Error("bind " + source + ": it is a socket or a device");
}

// A link on the way was in something that is mounted already, and leads wherever its author wants.
void refuse_links_on_the_way(const std::string& target) {
  for (std::size_t slash = target.find('/', new_root.size() + 1); slash != std::string::npos;
       slash = target.find('/', slash + 1)) {
    struct stat facts{};
    const std::string part = target.substr(0, slash);
    if (::lstat(part.c_str(), &facts) != 0) return;  // from here on it is made
    if (S_ISLNK(facts.st_mode)) throw Error("mount at " + target + ": " + part + " is a link");
  }
}

void bind(const std::string& source, const os::UniqueFd& found, const std::string& target,
          std::uint64_t flags) {
  struct stat before{};
  if (::fstat(found.get(), &before) != 0) throw OsError("look at " + source);
  refuse_links_on_the_way(target);
  if (S_ISDIR(before.st_mode)) {
    make_directories(target);
  } else {
    write_file(target, "");
  }
  const std::string by_descriptor = old_root + "/proc/self/fd/" + std::to_string(found.get());
  check(::mount(by_descriptor.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
        "bind " + source);
  struct stat after{};
  if (::stat(target.c_str(), &after) != 0 || !same_file(before, after))
    throw Error("bind " + source + ": something else was mounted");
  restrict_mount(target, flags);
}

constexpr std::array devices = {"null", "zero", "full", "random", "urandom"};

struct SourceFinder {
  std::vector<os::UniqueFd>& sources;
  void operator()(const Bind& step) const { sources.push_back(find(step.source)); }
  void operator()(const Devices& /*step*/) const {
    for (const std::string name : devices) sources.push_back(find("/dev/" + name));
  }
  void operator()(const auto& /*step*/) const {}
};

struct StepMaker {
  std::vector<os::UniqueFd>::const_iterator source;  // of the next bind
  void operator()(const Bind& step) {
    refuse_kernel_interface(step.source, *source);
    bind(step.source, *source++, new_root + step.target,
         of_files | (step.writable ? 0 : MOUNT_ATTR_RDONLY));
  }
  void operator()(const Directory& step) const { make_directories(new_root + step.path); }
  void operator()(const Symlink& step) const {
    make_directories(parent_of(new_root + step.path));
    check(::symlink(step.target.c_str(), (new_root + step.path).c_str()), "link " + step.path);
  }
  void operator()(const File& step) const { write_file(new_root + step.path, step.content); }
  void operator()(const Scratch& step) const {
    make_directories(new_root + step.path);
    const std::string options = "mode=1777,size=" + std::to_string(step.megabytes) + "m";
    mount_tmpfs(new_root + step.path, options.c_str());
  }
  void operator()(const Devices& /*step*/) {
    for (const std::string name : devices)
      bind("/dev/" + name, *source++, new_root + "/dev/" + name, of_devices);
    (*this)(Directory{"/dev/shm"});
    (*this)(Symlink{"/proc/self/fd", "/dev/fd"});
    (*this)(Symlink{"/proc/self/fd/0", "/dev/stdin"});
    (*this)(Symlink{"/proc/self/fd/1", "/dev/stdout"});
    (*this)(Symlink{"/proc/self/fd/2", "/dev/stderr"});
  }
};

// A place to stand on: an empty mount anywhere, which becomes the root at once, so that it hides
// nothing that is to be shown.
void stand_on_empty_mount() {
  const std::string place = "/tmp";
  check_allowed(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
                "make all mounts private", "apparmor=unconfined");
  mount_tmpfs(place, "mode=0755,size=1m");
  make_directories(place + new_root);
  make_directories(place + old_root);
  check_allowed(
      static_cast<int>(::syscall(SYS_pivot_root, place.c_str(), (place + old_root).c_str())),
      "make an empty root", "seccomp=unconfined");
  check(::chdir("/"), "enter the empty root");
}

}  // namespace

std::vector<os::UniqueFd> open_sources(const std::vector<Step>& steps) {
  std::vector<os::UniqueFd> sources;
  for (const Step& step : steps) std::visit(SourceFinder{sources}, step);
  return sources;
}

void build_root(const std::vector<Step>& steps, const std::vector<os::UniqueFd>& sources) {
  stand_on_empty_mount();
  mount_tmpfs(new_root, "mode=0755,size=4m");
  make_directories(new_root + "/proc");
  StepMaker maker{sources.begin()};
  for (const Step& step : steps) std::visit(maker, step);
}

void enter_root() {
  // Mounts that came from a more privileged namespace are locked; their copy is ours.
  check(::mount(new_root.c_str(), new_root.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
        "bind the new root");
  check(::chdir(new_root.c_str()), "enter the new root");
  // While the old root's /proc can be seen, or the kernel refuses.
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
