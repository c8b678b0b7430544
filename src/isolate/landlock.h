// isolate/landlock.h: Landlock: which files the sandbox's processes may write, and which they may
// signal.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// Both do nothing if the spec switches Landlock off. False after fail().
bool restrict_files(const HearthSandboxSpec& spec);
// In each worker: its processes can signal each other, but neither init nor another worker. Not in
// init, which must be able to kill later workers, too.
bool restrict_signals(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
