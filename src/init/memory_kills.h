// init/memory_kills.h: counts the kernel's out-of-memory kills in this sandbox, where the sandbox
// can see its own cgroup: in a container. Otherwise the host counts them.
#pragma once

#include "os/unique_fd.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::init {

class MemoryKills {
 public:
  explicit MemoryKills(const std::string& cgroup_directory = "/sys/fs/cgroup");

  // Never decreases. 0 if the cgroup cannot be seen.
  std::uint64_t count() const;

 private:
  os::UniqueFd file_;  // memory.events (version 2) or memory.oom_control (version 1)
};

// The value of `oom_kill` in such a file; 0 if it has none.
std::uint64_t oom_kills_in(std::string_view text);

}  // namespace hearth::init
