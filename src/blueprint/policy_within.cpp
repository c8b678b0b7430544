#include "blueprint/policy_within.h"

#include "blueprint/host_pattern.h"

#include <algorithm>
#include <map>
#include <set>

namespace hearth::blueprint {
namespace {

struct Rule {
  HostPattern host;
  std::set<std::int64_t> ports;
};

std::map<std::string, Rule> rules_of(const NetworkPolicy& policy) {
  std::map<std::string, Rule> rules;
  for (const std::string& text : policy.allowed_hosts) {
    HostPattern host = parse_host_pattern(text);
    const std::string key = host.text;
    rules[key].host = std::move(host);
  }
  for (const auto& [text, ports] : policy.allowed_ports)
    rules[parse_host_pattern(text).text].ports.insert(ports.begin(), ports.end());
  for (auto& [text, rule] : rules)
    if (rule.ports.empty()) rule.ports.insert(policy.default_port);
  return rules;
}

// "*.example.com" holds "a.example.com" and "*.a.example.com", not "example.com".
bool holds(const HostPattern& outer, const HostPattern& inner) {
  if (outer.text == inner.text) return true;
  return outer.kind == HostKind::suffix &&
         (inner.kind == HostKind::name || inner.kind == HostKind::suffix) &&
         inner.text.ends_with(outer.text.substr(1));
}

}  // namespace

Problems problems_of_wider(const NetworkPolicy& inner, const NetworkPolicy& outer) {
  Problems problems;
  const std::map<std::string, Rule> allowed = rules_of(outer);
  for (const auto& [text, rule] : rules_of(inner)) {
    bool is_known = false;
    std::set<std::int64_t> ports;
    for (const auto& [name, one] : allowed)
      if (holds(one.host, rule.host)) {
        is_known = true;
        ports.insert(one.ports.begin(), one.ports.end());
      }
    if (!is_known) {
      problems.push_back({"allowed_hosts", in_quotes(text) + " is not allowed by the blueprint"});
      continue;
    }
    for (const std::int64_t port : rule.ports)
      if (!ports.contains(port))
        problems.push_back({member_of("allowed_ports", text),
                            std::to_string(port) + " is not allowed by the blueprint"});
  }
  return problems;
}

}  // namespace hearth::blueprint
