// wire/spawn_request.h: what the host asks of a zygote and what it answers, as bytes of these
// structs. Both are programs of one build on one machine, and a zygote must not allocate to read
// them.
#pragma once

#include <cstdint>

namespace hearth::wire {

// What a request asks for, and the descriptors that come with it:
enum class SpawnKind : std::uint64_t {
  // A new sandbox: its stream, init's socket for worker requests, perhaps a network namespace to
  // reuse, and the files by which it joins its cgroups.
  sandbox,
  // One more worker for a sandbox: a pidfd of its first process, a socket, the worker's stdout,
  // stderr, emit and run, and the files by which it joins its cgroups.
  worker,
  // Another zygote, as one cannot answer while it isolates a sandbox: a socket on which the new one
  // gets its requests; it exits when that is closed. ENOTSUP: this zygote cannot have twins.
  twin,
};

struct SpawnRequest {
  std::uint64_t number;
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t workspace_bytes;
  std::uint64_t workspace_inodes;
  std::uint64_t scratch_bytes;
  std::uint64_t scratch_inodes;
  std::uint64_t file_bytes;
  // Without cgroups: of private memory for each process beyond what it was forked with, and of
  // processes. 0: a cgroup limits it.
  std::uint64_t process_memory_bytes;
  std::uint64_t processes;
  std::uint32_t use_landlock;
  std::uint32_t has_network;
  std::uint64_t use_large_pages;  // 0: the zygote's memory stays where it is
  SpawnKind kind;
};

struct SpawnReply {
  std::uint64_t number;  // of the request
  // 0: with it comes a pidfd of the sandbox's first process; or of one that becomes part of the
  // sandbox, says so by a byte on its socket, waits there for another, forks the worker and ends.
  std::int64_t error;
};

inline constexpr std::uint64_t max_spawn_descriptors = 12;

}  // namespace hearth::wire
