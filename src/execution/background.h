// execution/background.h: commands that go on when their turn is over.
//
//   const execution::StartedCommand server =
//       co_await execution::start_background(lease, {.shell = "python3 -m http.server"});
//   hearth::CommandReader output = co_await lease.commands().attach(server.execution_id);
#pragma once

#include "async/task.h"
#include "base/error.h"
#include "execution/turn_request.h"
#include "pool/lease.h"

#include <cstdint>
#include <string>
#include <utility>

namespace hearth::execution {

struct StartedCommand {
  std::string execution_id;
  std::uint64_t pid = 0;  // in its sandbox
};

// It cannot be run. The message says why, the name as an error of a turn has it: CommandNotFound.
struct CommandNotStarted : Error {
  CommandNotStarted(const std::string& message, std::string error)
      : Error(message), name(std::move(error)) {}
  std::string name;
};

// Returns when the command runs. It outlives turns of the lease and ends with the lease at the
// latest; no time limit is for it unless the request names one. What it prints, stderr in the same
// stream, is kept in the sandbox; lease.commands() lists, reads and ends it. Throws ConfigError,
// CommandNotStarted, IncompleteRead or ProtocolError. `lease` must outlive the task.
Task<StartedCommand> start_background(pool::Lease& lease, TurnRequest request);

}  // namespace hearth::execution
