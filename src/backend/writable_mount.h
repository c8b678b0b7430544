// backend/writable_mount.h: whether the user of a sandbox may write a mount that it is to write. A
// script that finds out at its end has worked for nothing.
#pragma once

#include "blueprint/sandbox_config.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hearth::backend {

// As far as the permissions of files on this machine go.
struct SandboxUser {
  bool is_caller = false;        // the user of this process
  std::optional<gid_t> group{};  // else a user that owns nothing here, of this group
};

// Why `user` could not write what is at `path`, in words; empty if it can, or if only the kernel
// knows (an access control list).
std::string problem_of_writing(const std::string& path, const SandboxUser& user);

// Throws Error, which names the mount and the way out, if a mount that is not read-only could not
// be written. Of an engine's own machine nothing is known.
void require_writable(const std::vector<blueprint::Mount>& mounts, const SandboxUser& user);

}  // namespace hearth::backend
