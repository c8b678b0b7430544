// backend/await_ready.h: the first message of every sandbox.
#pragma once

#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "wire/messages.h"

#include <chrono>

namespace hearth::backend {

// Returns when the sandbox is ready to run a script. Throws SpawnError if it says something else or
// speaks another version of the protocol, ReadyTimeout, or IncompleteRead. `channel` must outlive
// the task.
Task<wire::Ready> await_ready(SandboxChannel& channel, std::chrono::milliseconds limit);

}  // namespace hearth::backend
