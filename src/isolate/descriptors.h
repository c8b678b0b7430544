// isolate/descriptors.h: closes what a new process inherits from the zygote.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace hearth::isolate {

// Closes the zygote's socket to the host, its namespaces, the files of cgroups, and whatever tools
// keep open. The standard streams stay. Before the forks, so that no process of the sandbox ever
// holds any of it. False after fail().
bool close_all_but(std::initializer_list<std::int32_t> kept);

}  // namespace hearth::isolate
