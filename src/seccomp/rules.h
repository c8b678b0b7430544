// seccomp/rules.h: which system calls a sandbox's processes may use, whoever applies it: the kernel
// directly, or an engine. What has no rule does not exist (ENOSYS).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::seccomp {

// `argument & mask == value`, or `argument != value` for all 64 bits if `differs`
struct Condition {
  unsigned argument = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
  bool differs = false;
  bool operator==(const Condition&) const = default;
};

enum class Action {
  allow,
  refuse,  // EPERM
};

struct Rule {
  std::string call;
  Action action = Action::allow;
  std::vector<Condition> conditions = {};  // all of them
  bool operator==(const Rule&) const = default;
};

// Of one call the conditions do not overlap, so their order does not matter.
std::vector<Rule> sandbox_rules();

}  // namespace hearth::seccomp
