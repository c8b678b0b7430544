#include "native/ending.h"

#include "native/pidfd.h"
#include "os/kill_processes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

std::string pid_namespace_of(pid_t pid) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", gone).string();
}

// Where no cgroup lists them.
void kill_namespace_of(pid_t first) {
  const std::string wanted = pid_namespace_of(first);
  if (wanted.empty() || wanted == pid_namespace_of(::getpid())) return;
  os::kill_processes([&](pid_t pid) { return pid_namespace_of(pid) == wanted; });
}

}  // namespace

Ending::Ending(asio::any_io_executor executor, int pidfd, Cgroup* cgroup)
    : executor_(std::move(executor)), pidfd_(pidfd), cgroup_(cgroup) {
  wait();
}

void Ending::wait() {
  overdue_.emplace(executor_, pause_, [this] { insist(); });
}

void Ending::insist() {
  constexpr std::chrono::milliseconds longest_pause{400};
  const pid_t first = pid_of(pidfd_);
  if (has_ended(pidfd_) || first == 0) return;
  os::reset_scheduling(first);
  if (cgroup_ != nullptr) {
    cgroup_->kill_processes();
  } else {
    kill_namespace_of(first);
  }
  pause_ = std::min(pause_ * 2, longest_pause);
  wait();
}

}  // namespace hearth::native
