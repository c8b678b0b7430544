// launcher/confinement.h: what a command gives up before it starts, for good.
#pragma once

#include "launcher/options.h"

#include <string>
#include <vector>

namespace hearth::launcher {

// Joins cgroups by their `tasks` or `cgroup.procs` files, one for each tree. OsError.
void join_cgroups(const std::vector<int>& fds);
// The compiled filter in this file, empty if `fd` is -1. Closes the descriptor.
std::string read_filter(int fd);

// Keeps the capabilities by which a zygote isolates its sandboxes and removes all others from the
// bounding set: a program executed afterwards gets none of them, root or not.
void keep_zygote_capabilities();

// In the new root, as root of the user namespace: becomes an unprivileged user without
// capabilities, under these limits. With `is_alone`, the namespace contains only the caller, which
// then enters another one where it has the uid of the command.
void give_up_rights(const Confinement& confinement, bool is_alone);

// For good, for this process and its children. Does nothing if the filter is empty.
void install_filter(const std::string& filter);

}  // namespace hearth::launcher
