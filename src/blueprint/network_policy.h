// blueprint/network_policy.h: which hosts and ports a sandbox may reach.
#pragma once

#include "blueprint/problem.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hearth::blueprint {

struct NetworkPolicy {
  std::vector<std::string> allowed_hosts{};  // host_pattern.h says what is allowed
  std::map<std::string, std::vector<std::int64_t>> allowed_ports{};  // by allowed host
  std::int64_t default_port = 443;  // for hosts without an entry in allowed_ports
  bool operator==(const NetworkPolicy&) const = default;
};

Problems problems_of(const NetworkPolicy& policy);
// The same in canonical spelling: hosts in lower case, without a final dot and without repetition.
// Throws ConfigError with every problem.
NetworkPolicy validated(const NetworkPolicy& policy);

// No host is allowed: such a sandbox has no network interface but its loopback, and no proxy.
bool is_isolated(const NetworkPolicy& policy);

// `host:port,host:port`, sorted by host, then port: what a proxy is told to let through. Throws
// ConfigError on a policy that is not valid.
std::string allowlist_env(const NetworkPolicy& policy);

}  // namespace hearth::blueprint
