// native/confined_programs.h: runs programs that are not trusted to their end: as an unprivileged
// user in namespaces of their own, without capabilities, under the sandboxes' system call filter,
// in a read-only root that shows the system, with limits. Unlike a script, they may have the host's
// network, and one directory of the host that they can write. Blocks its caller.
#pragma once

#include "backend/programs.h"
#include "native/cgroup_tree.h"
#include "native/sandbox_users.h"
#include "os/run_program.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace hearth::native {

struct ConfinedLimits {
  std::uint64_t memory_mb = 4096;  // together; of each process where there are no cgroups
  std::uint64_t processes = 512;   // together
  std::uint64_t file_mb = 16'384;  // of one file
};

class ConfinedPrograms {
 public:
  // What the programs see `writable` as.
  static constexpr const char* writable_inside = "/hearth/build";

  // Without cgroups, the limits are those of processes. CannotSandbox, OsError, Error.
  ConfinedPrograms(const backend::Programs& programs, const ConfinedLimits& limits);

  // Hands a file or directory over to the user that the programs run as. Nothing of what it is in
  // may be in their reach yet.
  void give(const std::filesystem::path& path) const;

  struct Place {
    std::filesystem::path writable{};            // a directory that was given to them
    std::vector<std::filesystem::path> shown{};  // read-only, at their own paths; they must exist
    bool has_network = false;                    // the host's; else none
    bool is_alone = false;  // it can start no other process: installing wheels needs none
  };
  // `request.program` is a Python, which comes with its installation. When this returns and
  // the program was neither stopped nor out of time, no process of it is left.
  os::ProgramResult run(os::ProgramRequest request, const Place& place) const;
  // The exit code of a program that could not be started like this; its output says why.
  static constexpr int cannot_confine = 125;

  // Whether the kernel has ended a process because all together wanted too much.
  bool memory_limit_hit() const { return group_ && group_->memory_limit_hit(); }

 private:
  std::vector<std::string> words(const os::ProgramRequest& request, const Place& place) const;
  std::optional<uid_t> user() const;  // of the programs, outside; none: the caller

  backend::Programs programs_;
  ConfinedLimits limits_;
  os::UniqueFd filter_;
  SandboxUsers users_;
  std::unique_ptr<CgroupTree> groups_;
  CgroupTree::Lease group_{nullptr, {}};
};

}  // namespace hearth::native
