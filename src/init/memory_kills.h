// init/memory_kills.h: counts the kills for memory in this sandbox. Those of the kernel only where
// the sandbox can see its own cgroup: in a container. Otherwise the host counts them.
#pragma once

#include "os/unique_fd.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::init {

class MemoryKills {
 public:
  explicit MemoryKills(const std::string& cgroup_directory = "/sys/fs/cgroup");

  // Of the kernel and of init. Never decreases. Those of the kernel are 0 if the cgroup cannot be
  // seen.
  std::uint64_t count() const { return of_kernel() + of_init_; }
  // Init has killed for memory that no cgroup counts.
  void note_own() { ++of_init_; }

 private:
  std::uint64_t of_kernel() const;

  os::UniqueFd file_;  // memory.events (version 2) or memory.oom_control (version 1)
  std::uint64_t of_init_ = 0;
};

// The value of `oom_kill` in such a file; 0 if it has none.
std::uint64_t oom_kills_in(std::string_view text);

}  // namespace hearth::init
