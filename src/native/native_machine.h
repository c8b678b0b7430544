// native/native_machine.h: what this machine offers to native sandboxes, claimed once for all
// sources of a process. Refuses a machine on which sandboxes would be weaker than promised.
#pragma once

#include "backend/errors.h"
#include "backend/limits.h"
#include "backend/programs.h"
#include "native/cgroup_tree.h"
#include "native/sandbox_users.h"
#include "native/uid_range.h"
#include "os/unique_fd.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth::native {

using backend::Limits;

// Sandboxes of one zygote have the same addresses and the same hash seed.
enum class Zygotes {
  shared,       // one for all sandboxes of an environment
  per_sandbox,  // each sandbox has its own, which costs the start of Python and all its imports
};

struct NativeMachine {
  backend::Programs programs;
  os::UniqueFd seccomp_filter;  // for sandboxes
  os::UniqueFd zygote_filter;
  Zygotes zygotes = Zygotes::shared;
  SandboxUsers users;
  std::shared_ptr<UidPool> free_uids;   // of a claimed range, for the sandboxes of all sources
  std::unique_ptr<CgroupTree> cgroups;  // empty only with allow_degraded or degraded limits
  bool use_landlock = true;
  bool use_large_pages = true;
  std::chrono::milliseconds ready_limit{};
  std::chrono::milliseconds load_limit{};
  std::map<std::string, std::string> own_namespaces;
  bool limits_processes = true;       // RLIMIT_NPROC is a sandbox's, not its user's
  std::vector<std::string> degraded;  // what is missing, in words
};

struct NativeMachineOptions {
  bool allow_degraded = false;
  Limits limits = Limits::strict;
  // The directory of hearth-init and its companions, for a program that is not beside them;
  // HEARTH_LIBEXEC where the CMake package was found. Empty: see find_programs.
  std::filesystem::path programs{};
  // For a sandbox to be forked, and then for it to be ready.
  std::chrono::milliseconds ready_limit{30'000};
  // For all that an environment imports before its first sandbox.
  std::chrono::milliseconds load_limit{120'000};
  Zygotes zygotes = Zygotes::shared;
  // Zygotes move their interpreter's code and data into large pages, if the kernel has them.
  bool use_large_pages = true;
};

struct CannotSandbox : backend::BackendUnavailable {
  enum class Remedy { allow_degraded, none };
  explicit CannotSandbox(std::vector<std::string> what, Remedy remedy = Remedy::allow_degraded);
  std::vector<std::string> missing;
};

// Throws CannotSandbox, which names everything that is missing, unless allow_degraded accepts it. A
// machine whose sandboxes would be its root is always refused.
std::shared_ptr<const NativeMachine> open_native_machine(const NativeMachineOptions& options);

}  // namespace hearth::native
