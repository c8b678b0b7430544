// seccomp/engine_profile.h: the rules as a Docker engine takes them.
#pragma once

#include <string>

namespace hearth::seccomp {

// JSON, the same rules as compile_filter() for the machine that this runs on. Engines up to 20.10
// know no error code for what has no rule and say EPERM, with which the C library takes a new call
// for a refusal instead of falling back to the older one: so all calls that this library knows are
// named.
std::string engine_profile();

}  // namespace hearth::seccomp
