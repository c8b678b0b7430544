// wire/spawn_request.h: what the host asks of a zygote and what it answers, as they lie in memory:
// both are programs of one build on one machine, and a zygote must not touch memory to read them.
#pragma once

#include <cstdint>

namespace hearth::wire {

// Comes with descriptors: the sandbox's stream, perhaps a network namespace that another sandbox of
// this zygote had, then what it joins its cgroups by.
struct SpawnRequest {
  std::uint64_t number;
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t workspace_bytes;
  std::uint64_t workspace_inodes;
  std::uint64_t scratch_bytes;
  std::uint64_t scratch_inodes;
  std::uint32_t use_landlock;
  std::uint32_t has_network;
};

struct SpawnReply {
  std::uint64_t number;  // of the request
  std::int64_t error;    // 0: a pidfd of the sandbox's first process comes with it
};

inline constexpr std::uint64_t max_spawn_descriptors = 8;

}  // namespace hearth::wire
