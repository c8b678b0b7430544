// os/spawned_program.h: a program that was started for run_program: killed, with the process group
// it leads, and reaped whatever happens to its owner.
#pragma once

#include "os/run_program.h"
#include "os/unique_fd.h"

#include <sys/types.h>

#include <csignal>

namespace hearth::os {

struct ProgramStreams {
  int input;
  int output;
  int errors;
};

class SpawnedProgram {
 public:
  // OsError when it cannot be started.
  SpawnedProgram(const ProgramRequest& request, const ProgramStreams& streams);
  SpawnedProgram(const SpawnedProgram&) = delete;
  SpawnedProgram& operator=(const SpawnedProgram&) = delete;
  ~SpawnedProgram();

  int pidfd() const { return pidfd_.get(); }  // becomes readable when it exits
  void kill_group() const;                    // safe until it is reaped
  siginfo_t wait();

 private:
  pid_t pid_;
  UniqueFd pidfd_;
};

}  // namespace hearth::os
