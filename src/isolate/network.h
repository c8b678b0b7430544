// isolate/network.h: the sandbox's own network namespace: a loopback interface and nothing else.
#pragma once

#include "isolate/sandbox_spec.h"

namespace hearth::isolate {

// The kernel needs a millisecond to create a network namespace and several to destroy it, so one
// that was never used goes to another sandbox. It is reused only if its counters are those of a new
// one. No process of a sandbox can reset them, so then no packet was ever sent in it and nothing
// can be left.

// In the zygote, once: reads the counters of a new network namespace.
void learn_untouched_network();
// Enters `spec.network` if it can be reused, else a new one. False after fail().
bool enter_network(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
