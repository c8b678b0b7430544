// native/ending.h: makes sure that a killed sandbox ends, whatever its processes do.
#pragma once

#include "async/alarm.h"
#include "native/cgroup.h"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <optional>

namespace hearth::native {

// SIGKILL for the first process of a pid namespace ends all the others, but only once that process
// gets CPU time. A script may have starved it, so what is alive after a moment is killed one by one
// with the limits on CPU time lifted, again and again until the first process has ended.
class Ending {
 public:
  // Of a sandbox whose first process was just killed. `cgroup`: null if it has none. Both must
  // outlive this.
  Ending(asio::any_io_executor executor, int pidfd, Cgroup* cgroup);

 private:
  void wait();
  void insist();

  asio::any_io_executor executor_;
  int pidfd_;
  Cgroup* cgroup_;
  std::chrono::milliseconds pause_ = Cgroup::patience;
  std::optional<Alarm> overdue_;
};

}  // namespace hearth::native
