// backend/mount_check.h: what no sandbox is shown, on any backend.
#pragma once

#include "blueprint/sandbox_config.h"

#include <string>
#include <vector>

namespace hearth::backend {

// Throws Error that names the mount if one of them would show
// - a socket or a device,
// - a file system of the kernel (/proc, /sys, /dev, cgroups), wherever it is mounted,
// - the socket of a container engine: at its usual places, or one that listens now under its usual
//   name and belongs to root or to this user,
// - something at or below a path of `hidden`: the state directory, the configured engine's socket.
// A directory that holds one of these is refused as well. Links are followed. As far as this
// machine's paths are those of the machine whose directories are mounted.
void refuse_unsafe_mounts(const std::vector<blueprint::Mount>& mounts,
                          const std::vector<std::string>& hidden);

// The part that decides on values alone. `mount_table` as /proc/self/mountinfo, `engines` the paths
// of engines' sockets. Returns what is wrong, in words; empty if nothing is.
std::string problem_of_mount(const std::string& real_source, const std::vector<std::string>& hidden,
                             const std::string& mount_table,
                             const std::vector<std::string>& engines);

// The paths in `sockets`, which reads as /proc/net/unix, that have the usual name of an engine's
// socket. Any user can put one there: whether it exists is not looked at.
std::vector<std::string> listed_engines(const std::string& sockets);

}  // namespace hearth::backend
