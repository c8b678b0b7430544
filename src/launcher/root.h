// launcher/root.h: builds the zygote's root file system and enters it.
#pragma once

#include "launcher/options.h"
#include "os/unique_fd.h"

#include <vector>

namespace hearth::launcher {

// In a new mount namespace: opens every source of a bind while paths and links still mean what the
// caller meant. A path that is replaced later changes nothing.
std::vector<os::UniqueFd> open_sources(const std::vector<Step>& steps);

// Afterwards the new root is at /new, and the old root at /old. No step follows a link in the new
// root: what is mounted there may belong to another user, and a link in it could redirect a mount.
void build_root(const std::vector<Step>& steps, const std::vector<os::UniqueFd>& sources);

// As PID 1 of the pid namespace that /proc is to show: the new root becomes the only one,
// read-only.
void enter_root();

}  // namespace hearth::launcher
