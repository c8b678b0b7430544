// blueprint/policy_within.h: whether one network policy lets nothing through that another does not.
#pragma once

#include "blueprint/problem.h"
#include "blueprint/sandbox_config.h"

namespace hearth::blueprint {

// A problem for each host, and each port of a host, of `inner` that `outer` does not allow. Both
// must be valid.
Problems problems_of_wider(const NetworkPolicy& inner, const NetworkPolicy& outer);

}  // namespace hearth::blueprint
