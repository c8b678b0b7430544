// backend/mount_check.h: what no sandbox is shown, on any backend.
#pragma once

#include "blueprint/sandbox_config.h"

#include <string>
#include <vector>

namespace hearth::backend {

// What opens the sources later, by their paths.
enum class Mounter {
  hearth,  // hearth-launcher, which follows no link
  engine,  // a container engine, as root. It resolves the path once more.
};

// The mounts with sources without symbolic links, each resolved once and then judged. A source of
// the engine's machine (Mount::is_engines) is judged as far as this machine has it, and stays.
//
// Throws Error that names the mount if the way to it is not safe from other users:
// - a symbolic link belongs neither to root nor to this user,
// - with an engine: a directory on the way is not trusted (os/trusted_path.h).
// And if the mount would show
// - a socket or a device,
// - a file system of the kernel (/proc, /sys, /dev, cgroups), wherever it is mounted,
// - the socket of a container engine: at its usual places, or one that listens now under its usual
//   name and belongs to root or to this user,
// - something at or below a path of `hidden`: the state directory, the configured engine's socket.
// A directory that holds one of these is refused as well.
std::vector<blueprint::Mount> resolve_mounts(std::vector<blueprint::Mount> mounts,
                                             const std::vector<std::string>& hidden,
                                             Mounter mounter);

// The part that decides on values alone. `mount_table` as /proc/self/mountinfo, `engines` the paths
// of engines' sockets. Returns what is wrong, in words; empty if nothing is.
std::string problem_of_mount(const std::string& real_source, const std::vector<std::string>& hidden,
                             const std::string& mount_table,
                             const std::vector<std::string>& engines);

// The paths in `sockets`, which reads as /proc/net/unix, that have the usual name of an engine's
// socket. Any user can put one there: whether it exists is not looked at.
std::vector<std::string> listed_engines(const std::string& sockets);

}  // namespace hearth::backend
