#include "init/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::init {
namespace {

bool contains(std::span<const pid_t> pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

std::vector<pid_t> all_other_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && pid != ::getpid()) pids.push_back(pid);
  }
  return pids;
}

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 0;
};

// Of a process that has exited meanwhile, nothing.
Process process_of(pid_t pid) {
  std::array<char, 512> text;  // NOLINT: filled by read
  const os::UniqueFd file(
      ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  const std::string_view stat(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  // "PID (NAME) STATE PARENT ...", and the name may contain anything.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 4 >= stat.size()) return {};
  Process process{pid, 0, stat[name_end + 2]};
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), process.parent);
  return process;
}

std::vector<Process> all_others() {
  std::vector<Process> all;
  for (const pid_t pid : all_other_pids())
    if (const Process process = process_of(pid); process.pid > 0) all.push_back(process);
  return all;
}

// The pids of `roots` and everything below them.
std::unordered_set<pid_t> trees_in(const std::vector<Process>& all, std::span<const pid_t> roots) {
  std::unordered_multimap<pid_t, pid_t> children;
  for (const Process& process : all) children.emplace(process.parent, process.pid);
  std::unordered_set<pid_t> found(roots.begin(), roots.end());
  std::vector<pid_t> to_visit(roots.begin(), roots.end());
  while (!to_visit.empty()) {
    const auto [begin, end] = children.equal_range(to_visit.back());
    to_visit.pop_back();
    for (auto child = begin; child != end; ++child)
      if (found.insert(child->second).second) to_visit.push_back(child->second);
  }
  return found;
}

// Stops all other processes while it exists, and then continues those that ran before.
class Freeze {
 public:
  explicit Freeze(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    for (const Process& process : all_others())
      if (process.state == 'T') stopped_before_.insert(process.pid);
    ::kill(-1, SIGSTOP);
  }
  Freeze(const Freeze&) = delete;
  Freeze& operator=(const Freeze&) = delete;
  ~Freeze() {
    if (!wanted_) return;
    for (const pid_t pid : all_other_pids())
      if (!stopped_before_.contains(pid)) ::kill(pid, SIGCONT);
  }

 private:
  bool wanted_;
  std::unordered_set<pid_t> stopped_before_;
};

}  // namespace

ProcessTable::ProcessTable()
    : children_(::open(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(),
                       O_RDONLY | O_CLOEXEC)) {}

bool ProcessTable::has_only(std::span<const pid_t> spared) const {
  if (!children_) {
    const std::vector<Process> all = all_others();
    return std::all_of(all.begin(), all.end(), [&](const Process& process) {
      return process.parent != ::getpid() || contains(spared, process.pid);
    });
  }
  std::array<char, 4096> list{};
  const ssize_t size = ::pread(children_.get(), list.data(), list.size(), 0);
  // A list that fills the buffer is longer than any list of spared processes.
  if (size < 0 || size == static_cast<ssize_t>(list.size())) return false;
  std::string_view rest(list.data(), static_cast<std::size_t>(size));
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
    if (rest.empty()) return true;
    pid_t pid = 0;
    const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), pid).ptr;
    if (!contains(spared, pid)) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
}

void ProcessTable::kill_all_but(std::span<const pid_t> spared) const {
  if (spared.empty()) {
    ::kill(-1, SIGKILL);
    return;
  }
  ::kill(-1, SIGSTOP);
  for (const pid_t pid : all_other_pids())
    if (!contains(spared, pid)) ::kill(pid, SIGKILL);
  for (const pid_t pid : spared) ::kill(pid, SIGCONT);
}

void ProcessTable::kill_all_but(std::span<const pid_t> spared, std::span<const pid_t> roots,
                                bool freeze) const {
  if (roots.empty()) return kill_all_but(spared);
  const Freeze frozen(freeze);
  const std::vector<Process> all = all_others();
  const std::unordered_set<pid_t> trees = trees_in(all, roots);
  for (const Process& process : all)
    if (!contains(spared, process.pid) && !trees.contains(process.pid))
      ::kill(process.pid, SIGKILL);
}

void ProcessTable::kill_below(pid_t root, bool freeze) const {
  const Freeze frozen(freeze);
  signal_below(root, SIGKILL);
}

void ProcessTable::signal_below(pid_t root, int number) const {
  const std::array<pid_t, 1> roots{root};
  for (const pid_t pid : trees_in(all_others(), roots))
    if (pid != root) ::kill(pid, number);
}

}  // namespace hearth::init
