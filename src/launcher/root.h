// launcher/root.h: the zygote's root file system, from the first empty mount to the last look back.
#pragma once

#include "launcher/options.h"
#include "os/unique_fd.h"

#include <vector>

namespace hearth::launcher {

// In a mount namespace of our own: everything that the steps show, found while paths and links
// still mean what the caller meant. A path that is replaced later changes nothing.
std::vector<os::UniqueFd> open_sources(const std::vector<Step>& steps);

// Afterwards the new root stands at `new_root`, and what was the root is at `old_root`.
void build_root(const std::vector<Step>& steps, const std::vector<os::UniqueFd>& sources);

// As PID 1 of the pid namespace whose processes /proc is to show: the new root becomes the only
// one, read-only.
void enter_root();

}  // namespace hearth::launcher
