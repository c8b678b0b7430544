#include "seccomp/rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace hearth::seccomp {
namespace {

bool has(const std::vector<Rule>& rules, const Rule& wanted) {
  return std::find(rules.begin(), rules.end(), wanted) != rules.end();
}

}  // namespace

TEST_CASE("a zygote may do all that a sandbox may: its filter is the sandbox's, too") {
  const std::vector<Rule> zygote = zygote_rules();
  for (const Rule& rule : sandbox_rules()) {
    CAPTURE(rule.call);
    const bool is_allowed = has(zygote, rule) || has(zygote, {rule.call, Action::allow});
    if (rule.action == Action::allow) CHECK(is_allowed);
  }
}

TEST_CASE("a zygote may not do what isolation does not need") {
  const std::vector<Rule> zygote = zygote_rules();
  for (const char* call : {"bpf", "keyctl", "ptrace", "userfaultfd", "perf_event_open", "fsopen",
                           "open_by_handle_at", "pivot_root", "init_module"})
    CHECK(has(zygote, {call, Action::refuse}));
  CHECK(std::none_of(zygote.begin(), zygote.end(),
                     [](const Rule& rule) { return rule.call.starts_with("io_uring"); }));
}

}  // namespace hearth::seccomp
