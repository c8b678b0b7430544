#include "native/ending.h"

#include "native/pidfd.h"
#include "os/unique_fd.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

// As a process begins. An unprivileged user may only set the affinity; then its rivals for the CPU
// die first.
void reset_scheduling(pid_t pid) {
  cpu_set_t every_cpu;
  std::memset(&every_cpu, 0xff, sizeof every_cpu);
  ::sched_setaffinity(pid, sizeof every_cpu, &every_cpu);
  const sched_param no_priority{};
  ::sched_setscheduler(pid, SCHED_OTHER, &no_priority);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 0);
}

std::string pid_namespace_of(pid_t pid) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", gone).string();
}

// Where no cgroup lists them.
void kill_namespace_of(pid_t first) {
  const std::string wanted = pid_namespace_of(first);
  if (wanted.empty() || wanted == pid_namespace_of(::getpid())) return;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", failed)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const os::UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (handle && pid_namespace_of(pid) == wanted) kill_process(handle.get());
  }
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
  reset_scheduling(first);
  if (cgroup_ != nullptr) {
    cgroup_->kill_processes();
  } else {
    kill_namespace_of(first);
  }
  pause_ = std::min(pause_ * 2, longest_pause);
  wait();
}

}  // namespace hearth::native
