#include "seccomp/engine_profile.h"

#include "base/error.h"
#include "seccomp/rules.h"

#include <seccomp.h>
#include <boost/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace hearth::seccomp {
namespace {

namespace json = boost::json;

// More than any machine has numbers.
constexpr int most_calls = 1024;

std::string_view name_of_this_machine() {
  switch (::seccomp_arch_native()) {
    case SCMP_ARCH_X86_64:
      return "SCMP_ARCH_X86_64";
    case SCMP_ARCH_AARCH64:
      return "SCMP_ARCH_AARCH64";
    default:
      throw Error("there is no seccomp profile for this kind of processor yet");
  }
}

std::set<std::string> known_calls() {
  std::set<std::string> names;
  for (int number = 0; number < most_calls; ++number) {
    const std::unique_ptr<char, void (*)(void*)> name(
        ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), std::free);
    if (name) names.emplace(name.get());
  }
  return names;
}

json::array conditions_of(const Rule& rule) {
  json::array conditions;
  for (const Condition& one : rule.conditions)
    conditions.push_back({{"index", one.argument},
                          {"value", one.differs ? one.value : one.mask},
                          {"valueTwo", one.differs ? 0 : one.value},
                          {"op", one.differs ? "SCMP_CMP_NE" : "SCMP_CMP_MASKED_EQ"}});
  return conditions;
}

json::object entry(json::array names, Action action) {
  json::object entry{{"names", std::move(names)}};
  entry["action"] = action == Action::allow ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO";
  if (action != Action::allow) entry["errnoRet"] = error_of(action);
  return entry;
}

}  // namespace

std::string engine_profile() {
  std::map<Action, json::array> whole;  // calls without conditions
  json::array entries;
  std::set<std::string> unnamed = known_calls();
  for (const Rule& rule : sandbox_rules()) {
    if (rule.conditions.empty()) {
      unnamed.erase(rule.call);
      whole[rule.action].emplace_back(rule.call);
      continue;
    }
    unnamed.erase(rule.call);
    json::object one = entry(json::array{rule.call}, rule.action);
    one["args"] = conditions_of(rule);
    entries.push_back(std::move(one));
  }
  for (auto& [action, names] : whole) entries.push_back(entry(std::move(names), action));
  json::object missing = entry(json::array(unnamed.begin(), unnamed.end()), Action::refuse);
  missing["errnoRet"] = ENOSYS;
  entries.push_back(std::move(missing));
  return json::serialize(json::object{{"defaultAction", "SCMP_ACT_ERRNO"},
                                      {"defaultErrnoRet", ENOSYS},
                                      {"architectures", json::array{name_of_this_machine()}},
                                      {"syscalls", std::move(entries)}});
}

}  // namespace hearth::seccomp
