#include "native/observed_process.h"

#include "base/error.h"
#include "os/read_file.h"
#include "os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace hearth::native {
namespace {

constexpr std::size_t max_proc_bytes = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    take(line);
  }
}

// /proc/<pid>, found once.
class ProcessDirectory {
 public:
  explicit ProcessDirectory(pid_t pid)
      : name_("/proc/" + std::to_string(pid)),
        fd_(::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!fd_) throw OsError("open " + name_);
  }

  const std::string& name() const { return name_; }

  os::UniqueFd open(const char* entry, int flags) const {
    os::UniqueFd opened(::openat(fd_.get(), entry, flags | O_CLOEXEC));
    if (!opened) throw OsError("read " + name_ + '/' + entry);
    return opened;
  }
  std::string read(const char* file) const {
    return os::read_rest(open(file, O_RDONLY).get(), name_ + '/' + file, max_proc_bytes);
  }
  int get() const { return fd_.get(); }

 private:
  std::string name_;
  os::UniqueFd fd_;
};

// Nothing if it is gone.
std::optional<std::string> find_link(int directory, const char* name) {
  std::array<char, 256> target{};
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  if (size < 0 && errno == ENOENT) return std::nullopt;
  if (size < 0) throw OsError(std::string("read the link ") + name);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::string link_of(int directory, const char* name) {
  std::optional<std::string> target = find_link(directory, name);
  if (!target) throw OsError(std::string("read the link ") + name);
  return *std::move(target);
}

void read_status(ObservedProcess& observed, const ProcessDirectory& directory) {
  static constexpr std::array<std::string_view, 12> wanted = {
      "Uid",    "Gid",    "FDSize", "Groups",     "CapInh",  "CapPrm",
      "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters"};
  for_each_line(directory.read("status"), [&](std::string_view line) {
    const std::string_view name = line.substr(0, line.find(':'));
    if (name.size() < line.size() && std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      observed.status.emplace(name, trimmed(line.substr(name.size() + 1)));
  });
}

void read_namespaces(ObservedProcess& observed, const ProcessDirectory& directory) {
  for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"})
    observed.namespaces.emplace(name,
                                link_of(directory.get(), (std::string("ns/") + name).c_str()));
}

void read_limits(ObservedProcess& observed, const ProcessDirectory& directory) {
  constexpr std::size_t name_width = 26;
  for_each_line(directory.read("limits"), [&](std::string_view line) {
    if (line.size() > name_width)
      observed.limits.emplace(trimmed(line.substr(0, name_width)),
                              trimmed(line.substr(name_width)));
  });
}

// "4:cpu,cpuacct:/path", or "0::/path" in version 2.
void read_cgroups(ObservedProcess& observed, const ProcessDirectory& directory) {
  for_each_line(directory.read("cgroup"), [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string path(line.substr(second + 1));
    std::istringstream controllers(std::string(line.substr(first + 1, second - first - 1)));
    if (second == first + 1) observed.cgroups[""] = path;
    for (std::string name; std::getline(controllers, name, ',');) observed.cgroups[name] = path;
  });
}

// For a user that may trace a process, by owning its user namespace, but may not list its /proc/fd,
// which belongs to root. `slots`: the size of its descriptor table.
std::vector<std::string> taken_descriptors(pid_t pid, int slots) {
  const os::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) throw OsError("open process " + std::to_string(pid));
  std::vector<std::string> targets;
  for (int slot = 0; slot < slots; ++slot) {
    const os::UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), slot, 0)));
    if (!copy && errno == EBADF) continue;
    if (!copy) throw OsError("look at a descriptor of process " + std::to_string(pid));
    targets.push_back(link_of(AT_FDCWD, ("/proc/self/fd/" + std::to_string(copy.get())).c_str()));
  }
  return targets;
}

void read_descriptors(ObservedProcess& observed, const ProcessDirectory& directory) {
  const int fd = ::openat(directory.get(), "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) {
    const auto slots = observed.status.find("FDSize");
    if (slots == observed.status.end()) throw Error(directory.name() + "/status has no FDSize");
    observed.descriptors = taken_descriptors(observed.pid, std::stoi(slots->second));
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!entries) throw OsError("list " + directory.name() + "/fd");
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] == '.') continue;
    // A harness may still be closing some.
    if (auto target = find_link(fd, entry->d_name))
      observed.descriptors.push_back(*std::move(target));
    errno = 0;
  }
  if (errno != 0) throw OsError("list " + directory.name() + "/fd");
}

}  // namespace

ObservedProcess observe_process(pid_t pid, Look look) {
  const ProcessDirectory directory(pid);
  ObservedProcess observed;
  observed.pid = pid;
  read_status(observed, directory);
  read_descriptors(observed, directory);
  if (look == Look::identity) return observed;
  read_namespaces(observed, directory);
  read_limits(observed, directory);
  read_cgroups(observed, directory);
  if (look == Look::mounts) observed.mountinfo = directory.read("mountinfo");
  return observed;
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::istringstream list(
      os::read_file("/proc/" + number + "/task/" + number + "/children", max_proc_bytes));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

}  // namespace hearth::native
