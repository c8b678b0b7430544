// init/process_table.h: lists and kills the other processes of this pid namespace. Only PID 1 may
// use it: a process that loses its parent becomes PID 1's child, so while any process is left, PID
// 1 has a child. The exception are the trees of commands, whose roots adopt their orphans.
#pragma once

#include "os/unique_fd.h"

#include <sys/types.h>

#include <span>

namespace hearth::init {

class ProcessTable {
 public:
  ProcessTable();

  // True if only this process, `spared` and everything below them is alive. Zombies count until
  // they are reaped.
  bool has_only(std::span<const pid_t> spared) const;

  // SIGKILL to all others. They are stopped first, so that processes which fork faster than they
  // can be listed do not escape.
  void kill_all_but(std::span<const pid_t> spared) const;

  // SIGKILL to all but `spared` and the trees below and including `roots`. These are stopped for a
  // moment, too, but only if `freeze` says so.
  void kill_all_but(std::span<const pid_t> spared, std::span<const pid_t> roots, bool freeze) const;

  // SIGKILL to everything below `root`. With `freeze` all processes are stopped for a moment, so
  // that none escapes by forking.
  void kill_below(pid_t root, bool freeze) const;
  void signal_below(pid_t root, int number) const;

 private:
  os::UniqueFd children_;  // /proc/<self>/task/<self>/children; absent on kernels without it
};

}  // namespace hearth::init
