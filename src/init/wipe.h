// init/wipe.h: removes files and IPC objects that turns left. No process that could interfere may
// be alive.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hearth::init {

// Empties the directory, keeps it, and restores its `mode`. Follows no link and crosses no mount.
// Needs the same few descriptors and little stack however deep the tree is. Returns a sentence for
// each thing that could not be removed. A directory that does not exist counts as empty.
std::vector<std::string> wipe_directory(const std::string& path, mode_t mode);

// System V shared memory, semaphores and message queues of this IPC namespace.
void remove_ipc_objects();

}  // namespace hearth::init
