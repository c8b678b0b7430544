// launcher/confinement.h: what a command gives up before it starts, for good.
#pragma once

#include "launcher/options.h"

#include <string>
#include <vector>

namespace hearth::launcher {

// Throws OsError.
void join_cgroups(const std::vector<int>& fds);
// The compiled filter in this file; empty without one. The descriptor is closed.
std::string read_filter(int fd);

// In the new root, as root of the user namespace: from here on an unprivileged user without
// capabilities, under these limits. With `is_alone`, the namespace contains no user but the caller,
// who gets a namespace in which it has the other number.
void give_up_rights(const Confinement& confinement, bool is_alone);

// For good; what it does not know does not exist. Nothing if it is empty.
void install_filter(const std::string& filter);

}  // namespace hearth::launcher
