// native/launch_plan.h: what a zygote's root holds and how its Python is started, as a decision on
// values; zygote.h acts on it.
#pragma once

#include "backend/programs.h"
#include "blueprint/sandbox_config.h"

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

// What a blueprint was built into.
struct ZygoteContent {
  std::filesystem::path python;    // the interpreter, as the machine names it
  std::filesystem::path packages;  // empty: none were installed
  std::filesystem::path tools;     // empty: none
  std::vector<std::string> preload{};
  std::vector<blueprint::Mount> mounts{};  // sources without symbolic links
  std::string python_version{};            // for people
};

struct UidRange {
  uid_t first = 0;
  uid_t count = 0;
};

// What the plan must know of the machine; values in tests.
struct Machine {
  std::function<bool(const std::string&)> exists;
  std::function<std::optional<std::string>(const std::string&)> link_target;
  std::function<std::string(const std::string&)> content_of{};  // empty where there is none
  std::string home{};                                           // of the caller
};
Machine this_machine();

struct LaunchPlan {
  std::vector<std::string> arguments;  // of hearth-launcher
};

inline constexpr int zygote_control_fd = 3;
inline constexpr int zygote_seccomp_fd = 4;
// The launcher's: the zygote's own filter, and from the next on its cgroup in every tree.
inline constexpr int launcher_seccomp_fd = 5;
inline constexpr int launcher_cgroup_fd = 6;

LaunchPlan launch_plan(const ZygoteContent& content, const backend::Programs& programs,
                       const std::optional<UidRange>& uids, const Machine& machine);

}  // namespace hearth::native
