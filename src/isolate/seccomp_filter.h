// isolate/seccomp_filter.h: installs the compiled seccomp filter, for good.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// False after fail().
bool restrict_system_calls(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
