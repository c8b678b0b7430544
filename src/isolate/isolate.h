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
  std::uint64_t file_bytes;        // the largest size of a file
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
  std::int32_t control;            // init's end of the socket on which it asks for workers
  std::int32_t network;            // a namespace to be used again if it is as new, or -1
  // Of one more worker for a sandbox that is there:
  std::int32_t joined;         // a pidfd of its first process
  std::int32_t gate;           // a socket to the host, who looks at it before it goes on
  std::int32_t worker_fds[4];  // stdout, stderr, emit, run
};

// Makes a sandbox, or one more worker for one, for each request that comes (wire/spawn_request.h).
// In the zygote it returns only when the host is gone, with -1. It returns in each worker, when
// init knows of it: 1 if its first script is there by then, else 0. No line of Python runs in the
// zygote between two requests, so all share its memory. A sandbox's first process becomes init and
// does not return; if it cannot, it says why on its stream. Why a later worker cannot be made is
// told to init, on the worker's emit pipe.
//
// The rest of `spec` is filled in from each request.
int hearth_serve(std::int32_t control, HearthSandboxSpec* spec);
}
