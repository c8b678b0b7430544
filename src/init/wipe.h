// init/wipe.h: removes what a turn left in files and in the kernel's memory. Every process that
// could interfere is dead by now.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hearth::init {

// Empties the directory, itself kept, with `mode` given back to it. Follows no link, crosses no
// mount, and needs the same few descriptors and little stack however deep the tree is. Returns what
// could not be removed, in words; a directory that does not exist is empty.
std::vector<std::string> wipe_directory(const std::string& path, mode_t mode);

// System V shared memory, semaphores and message queues of this IPC namespace.
void remove_ipc_objects();

}  // namespace hearth::init
