// blueprint/host_pattern.h: what may stand in a network policy as a host: a DNS name, `*.suffix`,
// an IPv4 or IPv6 literal. Strict, because a proxy will compare what a script asks for with it:
// every host has exactly one spelling here, and none of the loose forms of inet_aton is one.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::blueprint {

enum class HostKind { name, suffix, ipv4, ipv6 };

struct HostPattern {
  HostKind kind = HostKind::name;
  std::string text;  // lower case, no final dot, IPv6 in its shortest form without brackets
};

// `what()` reads after the field's name: `is "*", which would allow every host; ...`
struct HostPatternError : Error {
  using Error::Error;
};

HostPattern parse_host_pattern(std::string_view text);

// `host:port` as it stands in an allow-list; IPv6 gets its brackets.
std::string with_port(const HostPattern& host, std::int64_t port);

}  // namespace hearth::blueprint
