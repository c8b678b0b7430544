// init/command_runner.h: the process between init and a command. It adopts what the command's
// processes leave behind, so that everything below it is the command's, and tells init how the
// command itself begins and ends. It runs nothing but this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::init {

struct CommandPlan {
  std::vector<std::string> argv;         // the program, and its arguments
  std::vector<std::string> environment;  // NAME=VALUE
  std::string directory;
};

// Of the command, in the runner. -1: none.
struct CommandEnds {
  int input = -1;
  int output = -1;
  int errors = -1;
  int script = -1;  // what an interpreter reads as script_fd_of_command
  bool terminal = false;
};

inline constexpr int script_fd_of_command = 3;

// What a runner writes to its report pipe.
struct RunnerReport {
  enum class Kind : std::uint32_t {
    started,        // the pid
    no_directory,   // errno
    no_program,     // errno
    exited,         // the wait status; nothing else is left
    left_processes  // the same, and processes of it are alive
  };
  Kind kind = Kind::started;
  std::int32_t value = 0;
};

// In the process that becomes the runner. `report` is the write end of its pipe.
[[noreturn]] void become_runner(const CommandPlan& plan, CommandEnds ends, int report);

}  // namespace hearth::init
