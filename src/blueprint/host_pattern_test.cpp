#include "blueprint/host_pattern.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth::blueprint;

namespace {

std::string complaint_about(std::string_view text) {
  try {
    return "accepted as " + parse_host_pattern(text).text;
  } catch (const HostPatternError& error) {
    return error.what();
  }
}

bool complains(std::string_view text, std::string_view why) {
  const std::string complaint = complaint_about(text);
  INFO(text, ": ", complaint);
  CHECK(complaint.find(why) != std::string::npos);
  return complaint.find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("C11: a host is a name, a suffix or an address") {
  CHECK(parse_host_pattern("api.stripe.com").kind == HostKind::name);
  CHECK(parse_host_pattern("localhost").kind == HostKind::name);
  CHECK(parse_host_pattern("xn--bcher-kva.example").kind == HostKind::name);
  CHECK(parse_host_pattern("1password.com").kind == HostKind::name);
  CHECK(parse_host_pattern("*.example.com").kind == HostKind::suffix);
  CHECK(parse_host_pattern("1.2.3.4").kind == HostKind::ipv4);
  CHECK(parse_host_pattern("2001:db8::1").kind == HostKind::ipv6);
}

TEST_CASE("C11: every host has one spelling") {
  CHECK(parse_host_pattern("API.Stripe.COM").text == "api.stripe.com");
  CHECK(parse_host_pattern("api.stripe.com.").text == "api.stripe.com");
  CHECK(parse_host_pattern("*.Example.com.").text == "*.example.com");
  CHECK(parse_host_pattern("2001:0DB8:0:0:0:0:0:1").text == "2001:db8::1");
}

TEST_CASE("C11: what looks like a number but is no canonical address is refused and says so") {
  for (const char* text :
       {"127.1", "0x7f000001", "2130706433", "017700000001", "0x7f.1", "0", "127.0.0.01",
        "1.2.3.4.5", "1.2.3.4.", "256.1.1.1", "example.0x7f", "a.b.c.4", "0x", "*.1.2.3.4"}) {
    complains(text, "looks like a number but is not a canonical IP address");
  }
}

TEST_CASE("C11: an address that hides another is refused") {
  complains("::ffff:127.0.0.1", "hides an IPv4 address");
  complains("::127.0.0.1", "hides an IPv4 address");
  complains("fe80::1%eth0", "not a canonical IPv6 address");
  complains("1:2:3:4:5:6:7", "not a canonical IPv6 address");
  complains("[::1]", "without them");
}

TEST_CASE("host patterns that allow too much are refused") {
  complains("*", "would allow every host");
  complains("**", "would allow every host");
  complains("*.", "would allow every host");
  complains("*.com", "whole top-level domain");
  complains("*.com.", "whole top-level domain");
  complains("*.*.example.com", "more than one");
  complains("**.example.com", "something else than the whole first label");
  complains("a*.example.com", "something else than the whole first label");
  complains("api.*.com", "something else than the whole first label");
}

TEST_CASE("host patterns that are no host are refused with what to write instead") {
  complains("", "is empty");
  complains("https://example.com", "write the host alone");
  complains("10.0.0.0/8", "write the host alone");
  complains("user@example.com", "write the host alone");
  complains("example.com:443", "ports belong into allowed_ports");
  complains("bücher.example", "xn--");
  complains("exa mple.com", "not a host");
  complains("a..b", "empty label");
  complains(".example.com", "empty label");
  complains("example.com..", "empty label");
  complains("-a.example", "begins or ends");
  complains("a_b.example", "not a host");
  complains(std::string("example.com\0.evil.com", 21), "NUL");
  complains("example.com,evil.com", "not a host");
  complains(std::string(64, 'a') + ".com", "more than 63");
  std::string long_name = "a";
  while (long_name.size() < 255) long_name += ".a";
  complains(long_name, "longer than 253");
}
