#include "blueprint/sandbox_config.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hearth::blueprint;

namespace {

bool has_problem(const NetworkPolicy& policy, std::string_view text) {
  const Problems problems = problems_of(policy);
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return to_string(problem).find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("C11: a policy allows nothing and uses port 443 unless said otherwise") {
  const NetworkPolicy policy;
  CHECK(policy.allowed_hosts.empty());
  CHECK(policy.allowed_ports.empty());
  CHECK(policy.default_port == 443);
}

TEST_CASE("C11: names and addresses with ports per host are valid") {
  CHECK(problems_of(NetworkPolicy{.allowed_hosts = {"api.stripe.com", "1.2.3.4", "*.example.org"},
                                  .allowed_ports = {{"api.stripe.com", {443}},
                                                    {"1.2.3.4", {8080, 1, 65535}}}})
            .empty());
}

TEST_CASE("C12: the allow-list names every host with its ports or the default one") {
  const NetworkPolicy policy{
      .allowed_hosts = {"b.example", "api.stripe.com", "1.2.3.4", "2001:db8::1"},
      .allowed_ports = {{"b.example", {8443, 443}}, {"1.2.3.4", {8080}}},
      .default_port = 444};
  CHECK(allowlist_env(policy) ==
        "1.2.3.4:8080,[2001:db8::1]:444,api.stripe.com:444,b.example:443,b.example:8443");
}

TEST_CASE("C12: order and spelling in the file do not change the allow-list") {
  const NetworkPolicy one{.allowed_hosts = {"a.example", "B.example.", "a.example"},
                          .allowed_ports = {{"a.example", {2, 1, 2}}}};
  const NetworkPolicy other{.allowed_hosts = {"b.example", "A.EXAMPLE"},
                            .allowed_ports = {{"a.example.", {1}}, {"A.example", {2}}}};
  CHECK(allowlist_env(one) == "a.example:1,a.example:2,b.example:443");
  CHECK(allowlist_env(one) == allowlist_env(other));
  CHECK(allowlist_env(NetworkPolicy{}).empty());
}

TEST_CASE("C12: a policy that is not valid has no allow-list") {
  CHECK_THROWS_AS(allowlist_env(NetworkPolicy{.allowed_hosts = {"a.example,*"}}), ConfigError);
}

TEST_CASE("C14: a policy is isolated exactly when it allows no host") {
  CHECK(is_isolated(NetworkPolicy{}));
  CHECK(is_isolated(SandboxConfig{}));
  CHECK_FALSE(is_isolated(NetworkPolicy{.allowed_hosts = {"a.example"}}));
}

TEST_CASE("ports outside 1 to 65535 are refused with the value") {
  CHECK(has_problem({.allowed_hosts = {"a.example"}, .allowed_ports = {{"a.example", {0}}}},
                    "allowed_ports.\"a.example\"[0] must be at least 1, is 0"));
  CHECK(has_problem({.allowed_hosts = {"a.example"}, .allowed_ports = {{"a.example", {1, 65536}}}},
                    "allowed_ports.\"a.example\"[1] must be at most 65535, is 65536"));
  CHECK(has_problem({.default_port = 0}, "default_port must be at least 1, is 0"));
  CHECK(has_problem({.default_port = 70000}, "default_port must be at most 65535, is 70000"));
  CHECK(has_problem({.allowed_hosts = {"a.example"}, .allowed_ports = {{"a.example", {}}}},
                    "lists no port"));
}

TEST_CASE("ports for a host that is not allowed are refused with its name") {
  CHECK(has_problem({.allowed_hosts = {"a.example"}, .allowed_ports = {{"b.example", {443}}}},
                    "allowed_ports.\"b.example\" names a host that is not in allowed_hosts"));
  // The suffix does not contain the host as an entry of its own: what a proxy would do is unclear.
  CHECK(has_problem({.allowed_hosts = {"*.a.example"}, .allowed_ports = {{"b.a.example", {443}}}},
                    "not in allowed_hosts"));
  CHECK(problems_of(
            NetworkPolicy{.allowed_hosts = {"A.example"}, .allowed_ports = {{"a.example.", {443}}}})
            .empty());
}

TEST_CASE("host patterns that are refused are reported with their place in the list") {
  CHECK(has_problem({.allowed_hosts = {"fine.example", "*"}}, "allowed_hosts[1] is \"*\""));
}
