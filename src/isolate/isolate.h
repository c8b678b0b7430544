// isolate/isolate.h: what a zygote calls to make sandboxes. Runs between fork and exec in a process
// that was Python: no allocation, no exceptions, libc only.
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
  const char* init_path;
  const char* versions;            // of Python and of the harness, as in "3.11.2/1"
  void (*after_fork)();            // what Python has to do in a new process, before anything else
  std::int32_t own_pid_namespace;  // a descriptor: a second unshare works only after a return to it
  std::int32_t stream;             // the sandbox's end of its conversation with the host
  std::int32_t network;            // a namespace to be used again if it is as new, or -1
};

enum HearthRole : std::int32_t { hearth_harness = 1, hearth_worker = 2 };

// Who the caller is when hearth_serve returns 0.
struct HearthSpawned {
  HearthRole role;
  std::int32_t fds[4];  // worker: stdout, stderr, emit and run; harness: its socket to init
};

// Makes a sandbox for each request that comes (wire/spawn_request.h). In the zygote it returns only
// when the host is gone, with -1. It returns 0 in each sandbox's first worker; and in its harness,
// but there only when that has something to do: until then no line of Python runs in it, nor in the
// zygote between two requests, so all of them share their memory. The sandbox's first process
// becomes init and does not return; if it cannot, it says why on its stream.
//
// The rest of `spec` is filled in from each request.
int hearth_serve(std::int32_t control, HearthSandboxSpec* spec, HearthSpawned* spawned);
}
