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

}  // namespace

ProcessTable::ProcessTable()
    : children_(::open(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(),
                       O_RDONLY | O_CLOEXEC)) {}

bool ProcessTable::has_only(std::span<const pid_t> spared) const {
  if (!children_) {
    const std::vector<pid_t> pids = all_other_pids();
    return std::all_of(pids.begin(), pids.end(), [&](pid_t pid) { return contains(spared, pid); });
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

}  // namespace hearth::init
