// init/process_table.h: who else lives in this pid namespace, and their end. Only PID 1 may use it:
// what loses its parent there becomes PID 1's child, so PID 1's children tell of everybody.
#pragma once

#include "os/unique_fd.h"

#include <sys/types.h>

#include <span>

namespace hearth::init {

class ProcessTable {
 public:
  ProcessTable();

  // Whether no process but this one, `spared` and their own children lives. Zombies count until
  // they are reaped.
  bool nobody_but(std::span<const pid_t> spared) const;

  // SIGKILL to everybody else. They are stopped first: a swarm that forks faster than it can be
  // listed stands still while it is killed.
  void kill_all_but(std::span<const pid_t> spared) const;

 private:
  os::UniqueFd children_;  // /proc/<self>/task/<self>/children; absent on kernels without it
};

}  // namespace hearth::init
