// init/command_plan.h: what a request for a command means in this sandbox: the program, its
// environment and directory, and the interpreters of languages.
#pragma once

#include "init/command_runner.h"
#include "os/unique_fd.h"
#include "wire/command_messages.h"

#include <string>
#include <string_view>

namespace hearth::init {

// `packages` is the directory of the blueprint's Python packages, empty if there is none. Throws
// Error if the request's language is not in the table.
CommandPlan plan_command(const wire::ExecRequest& request, const std::string& packages);

// A file in memory with the script, for the interpreter to read. Nothing if there is no script.
// Throws OsError.
os::UniqueFd script_file(const wire::ExecRequest& request);

}  // namespace hearth::init
