// init/process_table.h: lists and kills the other processes of this pid namespace. Only PID 1 may
// use it: a process that loses its parent becomes PID 1's child, so while any process is left, PID
// 1 has a child.
#pragma once

#include "os/unique_fd.h"

#include <sys/types.h>

#include <span>

namespace hearth::init {

class ProcessTable {
 public:
  ProcessTable();

  // True if only this process, `spared` and their own children are alive. Zombies count until they
  // are reaped.
  bool has_only(std::span<const pid_t> spared) const;

  // SIGKILL to all others. They are stopped first, so that processes which fork faster than they
  // can be listed do not escape.
  void kill_all_but(std::span<const pid_t> spared) const;

 private:
  os::UniqueFd children_;  // /proc/<self>/task/<self>/children; absent on kernels without it
};

}  // namespace hearth::init
