#include "native/posture.h"

#include "base/error.h"
#include "os/read_file.h"
#include "os/unique_fd.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_proc_bytes = std::size_t{1} << 20;
constexpr std::array namespace_names = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
constexpr std::array capability_sets = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

std::string directory_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// The word behind that many blanks.
std::string word_at(const std::string& line, int number) {
  std::size_t start = 0;
  for (int i = 0; i < number && start != std::string::npos; ++i)
    start = line.find(' ', start == 0 ? 0 : start + 1);
  if (start == std::string::npos) return {};
  start += number == 0 ? 0 : 1;
  return line.substr(start, line.find(' ', start) - start);
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Nothing if it is gone.
std::optional<std::string> find_link(const std::string& path) {
  std::array<char, 256> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0 && errno == ENOENT) return std::nullopt;
  if (size < 0) throw OsError("read " + path);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::string link_of(const std::string& path) {
  std::optional<std::string> target = find_link(path);
  if (!target) throw OsError("read " + path);
  return *std::move(target);
}

std::string field(const ObservedProcess& observed, const std::string& name) {
  const auto found = observed.status.find(name);
  return found == observed.status.end() ? "(absent)" : found->second;
}

class Comparison {
 public:
  explicit Comparison(const ObservedProcess& observed) : observed_(observed) {}

  void expect(const std::string& what, const std::string& is, const std::string& should_be) {
    if (is != should_be) note(what + " is " + is + ", not " + should_be);
  }
  void note(const std::string& what) {
    found_.push_back("process " + std::to_string(observed_.pid) + ": " + what);
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  const ObservedProcess& observed_;
  std::vector<std::string> found_;
};

std::string four_times(unsigned id) {
  const std::string one = std::to_string(id);
  return one + '\t' + one + '\t' + one + '\t' + one;
}

void compare_identity(Comparison& comparison, const ObservedProcess& observed,
                      const ExpectedPosture& expected) {
  comparison.expect("Uid", field(observed, "Uid"), four_times(expected.uid));
  comparison.expect("Gid", field(observed, "Gid"), four_times(expected.gid));
  if (expected.no_groups) comparison.expect("Groups", field(observed, "Groups"), "");
  for (const std::string set : capability_sets)
    comparison.expect(set, field(observed, set), "0000000000000000");
  comparison.expect("NoNewPrivs", field(observed, "NoNewPrivs"), "1");
  comparison.expect("Seccomp", field(observed, "Seccomp"), "2");
}

void compare_surroundings(Comparison& comparison, const ObservedProcess& observed,
                          const ExpectedPosture& expected) {
  for (const std::string name : namespace_names) {
    const auto ours = expected.our_namespaces.find(name);
    const auto theirs = observed.namespaces.find(name);
    if (theirs == observed.namespaces.end() || ours == expected.our_namespaces.end() ||
        theirs->second == ours->second)
      comparison.note("it is not in a " + name + " namespace of its own");
  }
  for (const std::string& controller : expected.controllers) {
    const auto group = observed.cgroups.find(controller);
    if (group == observed.cgroups.end() || !group->second.ends_with('/' + expected.cgroup))
      comparison.note("it is not in its cgroup" + (controller.empty() ? "" : " of " + controller));
  }
  const auto limit = [&](const std::string& name) {
    const auto found = observed.limits.find(name);
    return found == observed.limits.end() ? std::string("(absent)") : found->second;
  };
  if (!limit("Max core file size").starts_with("0 ")) comparison.note("it may write cores");
  constexpr long most_files = 4096;  // init's; a worker has a quarter of that
  const long files = std::atol(limit("Max open files").c_str());
  if (files <= 0 || files > most_files) comparison.note("its open files are not limited");
}

// Sockets, pipes and what it opened in its own /proc and /dev; no file or directory of ours.
bool is_harmless(const std::string& target) {
  for (const char* prefix : {"socket:[", "pipe:[", "anon_inode:", "/dev/null", "/proc/"})
    if (target.starts_with(prefix)) return true;
  return false;
}

void compare_files(Comparison& comparison, const ObservedProcess& observed) {
  for (const std::string& target : observed.descriptors)
    if (!is_harmless(target)) comparison.note("it holds " + target);
}

void compare_mounts(Comparison& comparison, const std::string& mountinfo) {
  bool root_is_read_only = false;
  for (const std::string& line : lines_of(mountinfo)) {
    // id parent device root point options ... - type source options
    const std::string point = word_at(line, 4);
    if (point == "/") root_is_read_only = (word_at(line, 5) + ',').starts_with("ro,");
    const std::string type = line.substr(std::min(line.find(" - ") + 3, line.size()));
    if (type.starts_with("sysfs") || type.starts_with("cgroup"))
      comparison.note("the file system at " + point + " is " + type);
  }
  if (!root_is_read_only) comparison.note("its root is not read-only");
}

// "4:cpu,cpuacct:/path", or "0::/path" in version 2.
void add_cgroup(ObservedProcess& observed, const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (second == std::string::npos) return;
  const std::string path = line.substr(second + 1);
  std::istringstream controllers(line.substr(first + 1, second - first - 1));
  if (second == first + 1) observed.cgroups[""] = path;
  for (std::string name; std::getline(controllers, name, ',');) observed.cgroups[name] = path;
}

// For those who may trace a process, by owning its user namespace, and still not list its /proc/fd,
// which belongs to root. `slots`: how large its table is.
std::vector<std::string> taken_descriptors(pid_t pid, int slots) {
  const os::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) throw OsError("open process " + std::to_string(pid));
  std::vector<std::string> targets;
  for (int slot = 0; slot < slots; ++slot) {
    const os::UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), slot, 0)));
    if (!copy && errno == EBADF) continue;
    if (!copy) throw OsError("look at a descriptor of process " + std::to_string(pid));
    targets.push_back(link_of("/proc/self/fd/" + std::to_string(copy.get())));
  }
  return targets;
}

std::vector<std::string> descriptors_of(const ObservedProcess& observed) {
  const std::string directory = directory_of(observed.pid) + "/fd";
  std::error_code error;
  const fs::directory_iterator entries(directory, error);
  if (error == std::errc::permission_denied)
    return taken_descriptors(observed.pid, std::stoi(field(observed, "FDSize")));
  if (error) throw OsError("list " + directory, error.value());
  std::vector<std::string> targets;
  // A harness may still be closing some.
  for (const fs::directory_entry& entry : entries)
    if (auto target = find_link(entry.path())) targets.push_back(*std::move(target));
  return targets;
}

}  // namespace

ObservedProcess observe_process(pid_t pid, Mounts mounts) {
  const std::string directory = directory_of(pid);
  ObservedProcess observed;
  observed.pid = pid;
  for (const std::string& line : lines_of(os::read_file(directory + "/status", max_proc_bytes))) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos)
      observed.status[line.substr(0, colon)] = trimmed(line.substr(colon + 1));
  }
  for (const std::string name : namespace_names)
    observed.namespaces[name] = link_of(directory + "/ns/" + name);
  constexpr std::size_t name_width = 26;
  for (const std::string& line : lines_of(os::read_file(directory + "/limits", max_proc_bytes)))
    if (line.size() > name_width)
      observed.limits[trimmed(line.substr(0, name_width))] = trimmed(line.substr(name_width));
  for (const std::string& line : lines_of(os::read_file(directory + "/cgroup", max_proc_bytes)))
    add_cgroup(observed, line);
  observed.descriptors = descriptors_of(observed);
  if (mounts == Mounts::read)
    observed.mountinfo = os::read_file(directory + "/mountinfo", max_proc_bytes);
  return observed;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream list(os::read_file(
      directory_of(pid) + "/task/" + std::to_string(pid) + "/children", max_proc_bytes));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

Differences differences(const ObservedProcess& observed, const ExpectedPosture& expected) {
  Comparison comparison(observed);
  compare_identity(comparison, observed, expected);
  compare_surroundings(comparison, observed, expected);
  compare_files(comparison, observed);
  if (observed.mountinfo) compare_mounts(comparison, *observed.mountinfo);
  return comparison.take();
}

namespace {

// All see the same mounts if they are in the same namespaces, and that is cheaper to compare.
Differences differences_of_member(pid_t pid, const ObservedProcess& init,
                                  const ExpectedPosture& expected) {
  const ObservedProcess member = observe_process(pid, Mounts::skip);
  Differences found = differences(member, expected);
  if (member.namespaces != init.namespaces)
    found.push_back("process " + std::to_string(pid) + ": it is in other namespaces than init");
  return found;
}

}  // namespace

Differences differences_of_sandbox(pid_t first, const ExpectedPosture& expected) {
  const ObservedProcess init = observe_process(first);
  Differences found = differences(init, expected);
  for (const pid_t pid : children_of(first))
    for (std::string& one : differences_of_member(pid, init, expected))
      found.push_back(std::move(one));
  return found;
}

Differences differences_of_newcomer(pid_t pid, pid_t first, const ExpectedPosture& expected) {
  return differences_of_member(pid, observe_process(first, Mounts::skip), expected);
}

}  // namespace hearth::native
