// seccomp/rules.h: which system calls the processes of a sandbox or of a zygote may use. Applied by
// the kernel directly, or by an engine. What has no rule does not exist (ENOSYS).
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
  lack,    // ENOTSUP: what libraries expect of a file system that has no such thing
  ignore,  // 0: a success without an effect
};

int error_of(Action action);  // of one that does not allow; 0 is none

struct Rule {
  std::string call;
  Action action = Action::allow;
  std::vector<Condition> conditions = {};  // all of them
  bool operator==(const Rule&) const = default;
};

// Of one call the conditions do not overlap, so their order does not matter.
std::vector<Rule> sandbox_rules();

// Those of a build: without Unix sockets that have a name. With the host's network come its
// abstract names, behind which an ordinary user's programs take the build for that user.
std::vector<Rule> build_rules();

// Those of a zygote, under which it loads tools and packages: what a sandbox may do, and the calls
// by which the zygote isolates sandboxes later. A filter cannot be taken back.
std::vector<Rule> zygote_rules();

}  // namespace hearth::seccomp
