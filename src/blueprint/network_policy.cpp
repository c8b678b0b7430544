#include "blueprint/network_policy.h"

#include "blueprint/checks.h"
#include "blueprint/host_pattern.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

namespace hearth::blueprint {
namespace {

std::optional<HostPattern> parse_or_note(Problems& problems, const std::string& field,
                                         const std::string& text) {
  try {
    return parse_host_pattern(text);
  } catch (const HostPatternError& error) {
    problems.push_back({field, error.what()});
    return std::nullopt;
  }
}

void sort_unique(std::vector<std::int64_t>& ports) {
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
}

}  // namespace

Problems problems_of(const NetworkPolicy& policy) {
  Problems problems;
  std::unordered_set<std::string> allowed;
  for (std::size_t index = 0; index < policy.allowed_hosts.size(); ++index) {
    const std::string field = element_of("allowed_hosts", index);
    if (const auto host = parse_or_note(problems, field, policy.allowed_hosts[index]))
      allowed.insert(host->text);
  }
  for (const auto& [text, ports] : policy.allowed_ports) {
    const std::string field = member_of("allowed_ports", text);
    const auto host = parse_or_note(problems, field, text);
    if (host && !allowed.contains(host->text)) {
      problems.push_back({.field = field,
                          .message = "names a host that is not in allowed_hosts",
                          .about_key = true});
    }
    check_ports(problems, field, ports);
  }
  check_range(problems, "default_port", policy.default_port, 1, 65'535);
  return problems;
}

NetworkPolicy validated(const NetworkPolicy& policy) {
  if (Problems problems = problems_of(policy); !problems.empty())
    throw ConfigError("network_policy", std::move(problems));
  NetworkPolicy canonical{.default_port = policy.default_port};
  std::unordered_set<std::string> seen;
  for (const std::string& text : policy.allowed_hosts) {
    std::string host = parse_host_pattern(text).text;
    if (seen.insert(host).second) canonical.allowed_hosts.push_back(std::move(host));
  }
  for (const auto& [text, ports] : policy.allowed_ports) {
    std::vector<std::int64_t>& merged = canonical.allowed_ports[parse_host_pattern(text).text];
    merged.insert(merged.end(), ports.begin(), ports.end());
    sort_unique(merged);
  }
  return canonical;
}

bool is_isolated(const NetworkPolicy& policy) { return policy.allowed_hosts.empty(); }

std::string allowlist_env(const NetworkPolicy& policy) {
  const NetworkPolicy canonical = validated(policy);
  // Sorted, so that the order in a file is no reason to restart a proxy.
  const std::set<std::string> hosts(canonical.allowed_hosts.begin(), canonical.allowed_hosts.end());
  std::string list;
  for (const std::string& text : hosts) {
    const HostPattern host = parse_host_pattern(text);
    const auto own = canonical.allowed_ports.find(text);
    const std::vector<std::int64_t> ports =
        own == canonical.allowed_ports.end() ? std::vector{canonical.default_port} : own->second;
    for (const std::int64_t port : ports) {
      if (!list.empty()) list += ',';
      list += with_port(host, port);
    }
  }
  return list;
}

}  // namespace hearth::blueprint
