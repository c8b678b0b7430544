// execution/leased_turn.h: one script in a sandbox that was checked out of a pool.
#pragma once

#include "execution/script_executor.h"
#include "pool/lease.h"

#include <string>

namespace hearth::execution {

// Within what the lease allows. One at a time; `lease` must outlive the task. A sandbox that a turn
// left in a state that is not known is not used again after the lease.
Task<ExecutionResult> run_turn(pool::Lease& lease, std::string script,
                               ScriptExecutor::OnEvent on_event = {});

SandboxControls controls_of(backend::Sandbox& sandbox);

}  // namespace hearth::execution
