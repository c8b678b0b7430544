// cli/prompt_session.h: `hearth run -i` for a person: steps as they are typed.
#pragma once

#include "async/task.h"
#include "backend/sandbox.h"
#include "blueprint/sandbox_config.h"
#include "cli/prompt.h"
#include "cli/script_runner.h"

#include <optional>
#include <string>

namespace hearth::cli {

// What one should know before the first step in that sandbox.
std::string banner_of(const backend::Sandbox& sandbox, const blueprint::SandboxConfig& config,
                      std::optional<double> step_seconds);

// Until the input ends or a step leaves. Returns the last step's exit code, at first `last`. Both
// references must outlive the task.
Task<int> run_typed(ScriptRunner& runner, Prompt& prompt, int last);

}  // namespace hearth::cli
