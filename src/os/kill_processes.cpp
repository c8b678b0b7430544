#include "os/kill_processes.h"

#include "os/unique_fd.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace hearth::os {

void reset_scheduling(pid_t pid) {
  cpu_set_t every_cpu;
  std::memset(&every_cpu, 0xff, sizeof every_cpu);
  ::sched_setaffinity(pid, sizeof every_cpu, &every_cpu);
  const sched_param no_priority{};
  ::sched_setscheduler(pid, SCHED_OTHER, &no_priority);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 0);
}

void kill_processes(const std::function<bool(pid_t)>& is_meant) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1) continue;
    // Before the look: the handle cannot come to mean another process.
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!handle || !is_meant(pid)) continue;
    reset_scheduling(pid);
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace hearth::os
