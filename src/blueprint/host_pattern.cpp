#include "blueprint/host_pattern.h"

#include "blueprint/problem.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace hearth::blueprint {
namespace {

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;
constexpr std::string_view allowed_forms =
    "; allowed are a DNS name, \"*.\" and a domain, or an IP address";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw HostPatternError("is " + in_quotes(text) + ", " + why);
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || is_digit(letter);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> labels;
  while (true) {
    const std::size_t dot = name.find('.');
    labels.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return labels;
    name.remove_prefix(dot + 1);
  }
}

// What a resolver might take for a number: 127, 0x7f, 017. No top-level domain looks like that.
bool looks_like_number(std::string_view label) {
  if (label.starts_with("0x")) {
    label.remove_prefix(2);
    return std::all_of(label.begin(), label.end(), [](char letter) {
      return is_digit(letter) || (letter >= 'a' && letter <= 'f');
    });
  }
  return std::all_of(label.begin(), label.end(), is_digit);
}

void check_label(std::string_view text, std::string_view label) {
  if (label.empty()) refuse(text, "which has an empty label" + std::string(allowed_forms));
  if (label.size() > longest_label) refuse(text, "which has a label of more than 63 letters");
  if (label.front() == '-' || label.back() == '-')
    refuse(text, "which has a label that begins or ends with \"-\"");
  if (!std::all_of(label.begin(), label.end(),
                   [](char letter) { return is_letter_or_digit(letter) || letter == '-'; }))
    refuse(text, "which is not a host" + std::string(allowed_forms));
}

void check_name(std::string_view text, std::string_view name) {
  if (name.size() > longest_name) refuse(text, "which is longer than 253 letters");
  const std::vector<std::string_view> labels = labels_of(name);
  if (!labels.back().empty() && looks_like_number(labels.back())) {
    refuse(text,
           "which looks like a number but is not a canonical IP address; write all four parts in "
           "decimal without leading zeros, like 192.0.2.1");
  }
  for (const std::string_view label : labels) check_label(text, label);
}

// The mistakes people make, each with what to write instead.
void refuse_known_mistakes(std::string_view text) {
  if (text.empty()) refuse(text, "which is empty" + std::string(allowed_forms));
  if (text == "*" || text == "*." || text == "**")
    refuse(text, "which would allow every host; list the hosts that are needed");
  if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos)
    refuse(text, "which is a URL or a network; write the host alone");
  if (text.find('@') != std::string_view::npos)
    refuse(text, "which holds \"@\"; write the host alone");
  if (text.front() == '[') refuse(text, "which has brackets; write the IPv6 address without them");
  if (std::any_of(text.begin(), text.end(), [](char letter) { return (letter & 0x80) != 0; }))
    refuse(text, "which is not ASCII; write an international name in its \"xn--\" form");
}

std::optional<HostPattern> parse_ipv4(const std::string& text) {
  in_addr address{};
  // inet_pton takes only four decimal parts without leading zeros.
  if (::inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return HostPattern{HostKind::ipv4, text};
}

HostPattern parse_ipv6(std::string_view original, const std::string& text) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    refuse(original, text.find(':') == text.rfind(':')
                         ? "which holds \":\"; ports belong into allowed_ports"
                         : "which is not a canonical IPv6 address");
  }
  if (IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_V4COMPAT(&address))
    refuse(original, "which hides an IPv4 address; write that one itself");
  std::array<char, INET6_ADDRSTRLEN> shortest{};
  ::inet_ntop(AF_INET6, &address, shortest.data(), shortest.size());
  return {HostKind::ipv6, shortest.data()};
}

HostPattern parse_suffix(std::string_view original, const std::string& text) {
  const std::string_view suffix = std::string_view(text).substr(2);
  if (suffix.find('*') != std::string_view::npos)
    refuse(original, "which has more than one \"*\"; only the first label may be one");
  check_name(original, suffix);
  if (suffix.find('.') == std::string_view::npos)
    refuse(original, "which would allow a whole top-level domain; name at least two labels");
  return {HostKind::suffix, text};
}

}  // namespace

HostPattern parse_host_pattern(std::string_view original) {
  refuse_known_mistakes(original);
  std::string text = lower_case(original);
  if (text.find('\0') != std::string::npos) refuse(original, "which holds a NUL byte");
  if (text.find(':') != std::string::npos) return parse_ipv6(original, text);
  if (auto address = parse_ipv4(text)) return *address;
  if (text.back() == '.') text.pop_back();
  if (text.starts_with("*.")) return parse_suffix(original, text);
  if (text.find('*') != std::string::npos)
    refuse(original, "where \"*\" stands for something else than the whole first label");
  check_name(original, text);
  return {HostKind::name, text};
}

std::string with_port(const HostPattern& host, std::int64_t port) {
  const std::string number = std::to_string(port);
  if (host.kind == HostKind::ipv6) return '[' + host.text + "]:" + number;
  return host.text + ':' + number;
}

}  // namespace hearth::blueprint
