// os/remove_tree.h: removes a directory that untrusted code has filled.
#pragma once

#include <chrono>
#include <filesystem>

namespace hearth::os {

// Removes `tree` and all below it, of any depth, with a handful of file descriptors, and follows no
// link. False if something is still there at `deadline` or cannot be removed; a later call goes on
// from there.
bool remove_tree(const std::filesystem::path& tree, std::chrono::steady_clock::time_point deadline);

}  // namespace hearth::os
