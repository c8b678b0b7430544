#include "init/process_usage.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace hearth::init {
namespace {

// The kernel's number for the CPU clock of a process. clock_getcpuclockid would check it with one
// more system call.
clockid_t cpu_clock_of(pid_t pid) {
  constexpr clockid_t time_on_cpus = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | time_on_cpus;
}

os::UniqueFd open_proc(pid_t pid, const char* name) {
  return os::UniqueFd(
      ::open(("/proc/" + std::to_string(pid) + name).c_str(), O_RDONLY | O_CLOEXEC));
}

std::string_view read_start(int fd, std::array<char, 2048>& text) {
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// To the kernel's hundredth of a second. The CPU clock of a process leaves them out.
double waited_children_seconds_of(pid_t pid) {
  std::array<char, 2048> text;  // NOLINT: filled by pread
  const std::uint64_t ticks =
      waited_children_ticks_in(read_start(open_proc(pid, "/stat").get(), text));
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

std::chrono::nanoseconds cpu_time_of(pid_t pid) {
  timespec used{};
  if (pid <= 0 || ::clock_gettime(cpu_clock_of(pid), &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::uint64_t waited_children_ticks_in(std::string_view stat) {
  constexpr int fields_before = 13;  // after the process's name, which may contain anything
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  stat.remove_prefix(name_end + 2);
  for (int i = 0; i < fields_before; ++i) {
    const std::size_t blank = stat.find(' ');
    if (blank == std::string_view::npos) return 0;
    stat.remove_prefix(blank + 1);
  }
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  const char* const end = stat.data() + stat.size();
  const auto user = std::from_chars(stat.data(), end, user_ticks);
  if (user.ec == std::errc() && user.ptr < end) std::from_chars(user.ptr + 1, end, system_ticks);
  return user_ticks + system_ticks;
}

std::uint64_t peak_memory_bytes_in(std::string_view status) {
  status.remove_prefix(std::min(status.find("VmHWM:"), status.size()));
  status.remove_prefix(std::min(status.find_first_of("0123456789"), status.size()));
  std::uint64_t kilobytes = 0;
  std::from_chars(status.data(), status.data() + status.size(), kilobytes);
  return kilobytes * 1024;
}

StepUsage::Measured StepUsage::end_step(pid_t pid, Clock::duration lasted) {
  // A process can touch little memory in so little time. Reading it takes as long as a short step.
  constexpr std::chrono::microseconds too_short_to_grow{200};
  // The kernel counts the time of children in coarser units than this.
  constexpr std::chrono::milliseconds too_short_for_children{5};

  const auto before = std::exchange(cpu_time_, cpu_time_of(pid));
  if (peak_memory_bytes_ == 0 || cpu_time_ - before > too_short_to_grow) {
    if (!status_) status_ = open_proc(pid, "/status");
    std::array<char, 2048> text;  // NOLINT: filled by pread
    peak_memory_bytes_ = peak_memory_bytes_in(read_start(status_.get(), text));
  }
  double children_seconds = 0;
  if (lasted > too_short_for_children) {
    const double all = waited_children_seconds_of(pid);
    children_seconds = all - std::exchange(children_seconds_, all);
  }
  return {cpu_seconds() + children_seconds, peak_memory_bytes_};
}

}  // namespace hearth::init
