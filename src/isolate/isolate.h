// isolate/isolate.h: what a zygote's child calls to become the first process of a sandbox. Called
// from Python between fork and exec: no allocation, no exceptions, libc only. Each returns 0, or -1
// with errno set and the step that failed in hearth_failed_step().
#pragma once

#include <cstdint>

extern "C" {

// The harness has the same structure, field by field.
struct HearthSandboxSpec {
  // Of the sandbox's processes, as the zygote's user namespace counts.
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t workspace_bytes;
  std::uint64_t workspace_inodes;
  std::uint64_t scratch_bytes;  // of /tmp and of /dev/shm, each
  std::uint64_t scratch_inodes;
  const std::int32_t* cgroup_fds;  // open for writing: `tasks` or `cgroup.procs`
  std::uint64_t cgroup_count;
  const void* seccomp_filter;  // struct sock_filter[]
  std::uint64_t seccomp_length;
  const char* const* writable_paths;  // beside /workspace, /tmp and /dev/shm; ends with a null
  std::uint64_t use_landlock;         // 0 only where the operator accepts a kernel without it
};

// Makes the next fork the first process of a new pid namespace. `own` is a descriptor of the
// caller's own: a second unshare works only after a return to it.
int hearth_new_pid_namespace(int own);

// In that process. First the surroundings, with all rights; then who we are, without any.
int hearth_isolate(const HearthSandboxSpec* spec);
int hearth_lock_down(const HearthSandboxSpec* spec);

const char* hearth_failed_step();
}
