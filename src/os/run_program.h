// os/run_program.h: runs a program to its end with bytes in and bytes out. No shell, no terminal;
// blocks its caller, so the daemon uses it from the worker pool. Not for what nobody trusts.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace hearth::os {

struct ProgramRequest {
  std::string program;  // a path, or a name that is looked up in PATH
  std::vector<std::string> arguments{};
  std::string input{};
  std::size_t max_output_bytes = 1'048'576;  // of each stream; the rest is read and dropped
  std::chrono::milliseconds timeout{30'000};
};

struct ProgramResult {
  int exit_code = 0;  // 0 also when a signal ended it
  int ended_by_signal = 0;
  bool timed_out = false;  // then it was killed, with the process group it led
  bool truncated = false;
  std::string output{};
  std::string errors{};

  bool succeeded() const {
    return exit_code == 0 && ended_by_signal == 0 && !timed_out && !truncated;
  }
};

// OsError when the program cannot be started; its code is ENOENT when there is none.
ProgramResult run_program(const ProgramRequest& request);

}  // namespace hearth::os
