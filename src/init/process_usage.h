// init/process_usage.h: CPU time and memory of processes that are still alive, for which there is
// no rusage.
#pragma once

#include "init/limits.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace hearth::init {

// Of all its threads. 0 if there is no such process.
std::chrono::nanoseconds cpu_time_of(pid_t pid);

// In the text of /proc/PID/stat: user and system time of children that it waited for, in clock
// ticks. 0 if the text is not complete.
std::uint64_t waited_children_ticks_in(std::string_view stat);
// In the text of /proc/PID/status: the peak of resident memory. 0 if the text does not say.
std::uint64_t peak_memory_bytes_in(std::string_view status);

// A worker that runs one step after the other.
class StepUsage {
 public:
  // At its first step. Its CPU time until then belongs to no step.
  void begin(pid_t pid) { cpu_time_ = cpu_time_of(pid); }

  // Used by the worker until the last step ended.
  double cpu_seconds() const { return std::chrono::duration<double>(cpu_time_).count(); }

  struct Measured {
    double cpu_seconds;  // since the worker started; of its children, only those of this step
    std::uint64_t peak_memory_bytes;
  };
  // At the end of a step. A short step asks the kernel for less than a long one.
  Measured end_step(pid_t pid, Clock::duration lasted);

 private:
  std::chrono::nanoseconds cpu_time_{};
  double children_seconds_ = 0;
  os::UniqueFd status_;  // /proc/PID/status, opened at the end of the first step
  std::uint64_t peak_memory_bytes_ = 0;
};

}  // namespace hearth::init
