// init/sweep.h: kills every process of the sandbox except those that are spared, and the trees of
// commands.
#pragma once

#include "init/limits.h"
#include "init/process_table.h"

#include <sys/types.h>

#include <optional>
#include <span>
#include <vector>

namespace hearth::init {

class Sweep {
 public:
  // Until the root is reaped, it and everything below it is no sweep's.
  void spare_tree(pid_t root) { trees_.push_back(root); }
  void forget_tree(pid_t root) { std::erase(trees_, root); }
  bool spares_trees() const { return !trees_.empty(); }

  // True when no process but `spared` and the spared trees is left. Otherwise the rest was sent
  // SIGKILL, and the caller calls again after SIGCHLD or at `wake_at()`. Throws SandboxFailed if
  // some of them cannot be killed.
  bool advance(Clock::time_point now, std::span<const pid_t> spared);

  // What is still alive is left to the next sweep.
  void stop() { began_at_.reset(); }

  Clock::time_point wake_at() const { return began_at_ ? next_pass_at_ : Clock::time_point::max(); }

  const ProcessTable& processes() const { return processes_; }

 private:
  bool is_done(std::span<const pid_t> spared) const;

  ProcessTable processes_;
  std::vector<pid_t> trees_;
  std::optional<Clock::time_point> began_at_;
  Clock::time_point next_pass_at_{};
  int passes_ = 0;
};

}  // namespace hearth::init
