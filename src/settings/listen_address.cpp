#include "settings/listen_address.h"

#include "blueprint/problem.h"

#include <arpa/inet.h>

#include <charconv>

namespace hearth::settings {
namespace {

bool is_host(const std::string& host) {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (host == "localhost" || ::inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return true;
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return false;
  return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ipv6) == 1;
}

bool is_port(std::string_view digits) {
  unsigned port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && port <= 65'535;
}

}  // namespace

std::string problem_of_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool valid = colon != std::string_view::npos && text.find('\0') == std::string_view::npos &&
                     is_host(std::string(text.substr(0, colon))) && is_port(text.substr(colon + 1));
  if (valid) return {};
  return "must be an address and a port like 127.0.0.1:8080 or [::1]:8080, is " +
         blueprint::in_quotes(text);
}

}  // namespace hearth::settings
