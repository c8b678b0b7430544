// isolate/sandbox_spec.h: how one sandbox, or one more worker for it, is to be made.
#pragma once

#include <cstdint>

// The harness has the same structure in ctypes. A test compares the two by `hearth_spec_fields`.
extern "C" struct HearthSandboxSpec {
  // The user of the sandbox's processes, as numbered in the zygote's user namespace.
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t workspace_bytes;
  std::uint64_t workspace_inodes;
  std::uint64_t scratch_bytes;  // of /tmp and of /dev/shm, each
  std::uint64_t scratch_inodes;
  std::uint64_t file_bytes;            // the largest size of a file
  std::uint64_t process_memory_bytes;  // of each process, beside the zygote's; 0: not limited here
  std::uint64_t processes;             // 0: not limited here
  const std::int32_t* cgroup_fds;      // open for writing: `tasks` or `cgroup.procs`
  std::uint64_t cgroup_count;
  const void* seccomp_filter;  // struct sock_filter[]
  std::uint64_t seccomp_length;
  const char* const* writable_paths;  // besides /workspace, /tmp and /dev/shm; ends with a null
  std::uint64_t use_landlock;         // 0 only if the operator accepts a kernel without it
  const char* init_path;
  const char* versions;            // of Python and of the harness, as in "3.11.2/1"
  const char* const* environment;  // of init and of commands; ends with a null
  void (*after_fork)();            // what Python must do first in a new process
  std::int32_t own_pid_namespace;  // a descriptor: a second unshare works only after a return to it
  std::int32_t stream;             // the sandbox's end of its stream to the host
  std::int32_t control;            // init's end of the socket on which it asks for workers
  std::int32_t network;            // a namespace to be reused if it is as new, or -1
  // For one more worker of a sandbox that exists:
  std::int32_t joined;         // a pidfd of its first process
  std::int32_t gate;           // a socket to the host, which checks the process before it continues
  std::int32_t worker_fds[4];  // stdout, stderr, emit, run
};

// The fields of HearthSandboxSpec, in order; the last entry has no name, and the structure's size
// as its offset.
extern "C" struct HearthSpecField {
  const char* name;
  std::uint64_t offset;
  std::uint64_t size;
};
extern "C" __attribute__((visibility("default"))) const HearthSpecField hearth_spec_fields[];
