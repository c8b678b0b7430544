// wire/workspace_path.h: which names a file in a sandbox's workspace may be given from outside.
// Both sides ask: the sandbox because it is strict, the host because it can say so before the first
// byte.
#pragma once

#include <string>
#include <string_view>

namespace hearth::wire {

// What is wrong with `path`, as the end of a sentence about it; empty if it is relative, of proper
// components only, valid UTF-8 and at most 4096 bytes long.
std::string problem_of_workspace_path(std::string_view path);

}  // namespace hearth::wire
