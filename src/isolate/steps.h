// isolate/steps.h: the parts of isolation, in the order in which they are done.
#pragma once

#include "isolate/isolate.h"

namespace hearth::isolate {

// Each step returns this: success, or false after fail() said what could not be done.
bool fail(const char* step);

bool join_cgroups(const HearthSandboxSpec& spec);
bool enter_network(const HearthSandboxSpec& spec);
bool enter_namespaces();
bool mount_scratch(const HearthSandboxSpec& spec);
bool mount_proc();
bool set_limits();

// In the zygote, once: what a new network says of itself, with which others are compared.
void learn_untouched_network();

bool become_sandbox_user(const HearthSandboxSpec& spec);
bool drop_capabilities();
bool restrict_files(const HearthSandboxSpec& spec);
bool restrict_system_calls(const HearthSandboxSpec& spec);

}  // namespace hearth::isolate
