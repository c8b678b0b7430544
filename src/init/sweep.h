// init/sweep.h: kills every process of the sandbox except those that are spared.
#pragma once

#include "init/limits.h"
#include "init/process_table.h"

#include <sys/types.h>

#include <optional>
#include <span>

namespace hearth::init {

class Sweep {
 public:
  // True when no process but `spared` is left. Otherwise the rest was sent SIGKILL, and the caller
  // calls again after SIGCHLD or at `wake_at()`. Throws SandboxFailed if some of them cannot be
  // killed.
  bool advance(Clock::time_point now, std::span<const pid_t> spared);

  Clock::time_point wake_at() const { return began_at_ ? next_pass_at_ : Clock::time_point::max(); }

 private:
  ProcessTable processes_;
  std::optional<Clock::time_point> began_at_;
  Clock::time_point next_pass_at_{};
};

}  // namespace hearth::init
