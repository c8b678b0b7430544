// cli/command_run.h: a command in a sandbox of its own, with the standard streams of hearth.
#pragma once

#include "api/run_request.h"
#include "cli/run_plan.h"

#include <string>

namespace hearth::cli {

// What people are told around it.
struct CommandWords {
  std::string greeting{};    // the program, said with its surroundings before it starts
  std::string if_missing{};  // if there is no such program
};

// `request` names a program or a line for a shell. Returns the exit code; whatever goes wrong is
// told.
int run_command_alone(RunOptions options, const api::RunRequest& request,
                      const CommandWords& words = {});

}  // namespace hearth::cli
