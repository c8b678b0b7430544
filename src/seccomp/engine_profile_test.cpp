#include "seccomp/engine_profile.h"

#include "seccomp/rules.h"

#include <doctest/doctest.h>
#include <seccomp.h>
#include <boost/json.hpp>

#include <cerrno>
#include <map>
#include <set>

namespace hearth::seccomp {
namespace {

namespace json = boost::json;

Action action_of(const json::object& entry) {
  if (entry.at("action") == json::value("SCMP_ACT_ALLOW")) return Action::allow;
  if (entry.at("errnoRet") == json::value(0)) return Action::ignore;
  return entry.at("errnoRet") == json::value(ENOTSUP) ? Action::lack : Action::refuse;
}

std::vector<Rule> rules_in(const json::value& profile) {
  std::vector<Rule> rules;
  for (const json::value& entry : profile.at("syscalls").as_array()) {
    const json::object& one = entry.as_object();
    if (one.contains("errnoRet") && one.at("errnoRet") == json::value(ENOSYS)) continue;
    std::vector<Condition> conditions;
    if (const json::value* args = one.if_contains("args"))
      for (const json::value& arg : args->as_array()) {
        const bool differs = arg.at("op") == json::value("SCMP_CMP_NE");
        CHECK((differs || arg.at("op") == json::value("SCMP_CMP_MASKED_EQ")));
        const auto argument = arg.at("index").to_number<unsigned>();
        const auto value = arg.at("value").to_number<std::uint64_t>();
        const auto second = arg.at("valueTwo").to_number<std::uint64_t>();
        conditions.push_back(differs ? Condition{argument, ~std::uint64_t{0}, value, true}
                                     : Condition{argument, value, second});
      }
    for (const json::value& name : one.at("names").as_array())
      rules.push_back({std::string(name.as_string()), action_of(one), conditions});
  }
  return rules;
}

std::set<std::string> without_rule(const json::value& profile) {
  std::set<std::string> names;
  for (const json::value& entry : profile.at("syscalls").as_array())
    if (entry.as_object().contains("errnoRet") && entry.at("errnoRet") == json::value(ENOSYS))
      for (const json::value& name : entry.at("names").as_array()) names.emplace(name.as_string());
  return names;
}

}  // namespace

TEST_CASE("the engine's profile has exactly the rules of the filter") {
  const json::value profile = json::parse(engine_profile());
  std::vector<Rule> found = rules_in(profile);
  std::vector<Rule> wanted = sandbox_rules();
  const auto by_text = [](const Rule& one, const Rule& other) {
    const auto key = [](const Rule& rule) {
      std::string text = rule.call + (rule.action == Action::allow ? "+" : "-");
      for (const Condition& condition : rule.conditions)
        text += std::to_string(condition.argument) + ',' + std::to_string(condition.mask) + ',' +
                std::to_string(condition.value) + (condition.differs ? "!;" : ";");
      return text;
    };
    return key(one) < key(other);
  };
  std::sort(found.begin(), found.end(), by_text);
  std::sort(wanted.begin(), wanted.end(), by_text);
  CHECK(found == wanted);
}

TEST_CASE("calls without a rule do not exist, by name too") {
  const json::value profile = json::parse(engine_profile());
  CHECK(profile.at("defaultAction") == json::value("SCMP_ACT_ERRNO"));
  CHECK(profile.at("defaultErrnoRet") == json::value(ENOSYS));
  CHECK(profile.at("architectures").as_array().size() == 1);
  const std::set<std::string> missing = without_rule(profile);
  CHECK(missing.contains("clone3"));
  CHECK(missing.contains("io_uring_setup"));
  for (const Rule& rule : sandbox_rules()) CHECK_FALSE(missing.contains(rule.call));
}

}  // namespace hearth::seccomp
