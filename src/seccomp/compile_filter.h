// seccomp/compile_filter.h: the rules as the kernel takes them.
#pragma once

#include "os/unique_fd.h"
#include "seccomp/rules.h"

#include <vector>

namespace hearth::seccomp {

// The compiled filter (struct sock_filter[]) in a file without a name, readable from its start. A
// call in another machine's convention ends the process.
os::UniqueFd compile_filter(const std::vector<Rule>& rules);

}  // namespace hearth::seccomp
