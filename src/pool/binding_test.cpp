#include "pool/binding.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::pool;

namespace {

blueprint::SandboxConfig config() {
  blueprint::SandboxConfig config;
  config.name = "default";
  config.network_policy.allowed_hosts = {"api.example.com", "*.example.org"};
  config.network_policy.allowed_ports = {{"api.example.com", {80, 443}}};
  return config;
}

std::vector<std::string> fields_of_problems(const CheckoutOptions& options) {
  std::vector<std::string> fields;
  try {
    bind(config(), {}, options);
  } catch (const blueprint::ConfigError& error) {
    for (const blueprint::Problem& problem : error.problems) fields.push_back(problem.field);
  }
  return fields;
}

}  // namespace

TEST_CASE("without options a lease has what the blueprint says") {
  const Binding binding = bind(config(), {}, {});
  CHECK(binding.limits == config().resource_limits);
  CHECK(binding.network_policy == config().network_policy);
  CHECK(binding.mode == blueprint::ExecutionMode::plan);
  CHECK_FALSE(binding.owner.is_named());
}

TEST_CASE("limits may be tighter, and everything that is wider is told at once") {
  CheckoutOptions options;
  options.cpu_quota = 0.1;
  options.memory_mb = 64;
  options.pids_limit = 8;
  options.execution_timeout_sec = 2;
  options.max_output_bytes = 2000;
  const Binding binding = bind(config(), {}, options);
  CHECK(binding.limits.cpu_quota == 0.1);
  CHECK(binding.limits.memory_mb == 64);
  CHECK(binding.limits.pids_limit == 8);
  CHECK(binding.limits.execution_timeout_sec == 2);
  CHECK(binding.limits.max_output_bytes == 2000);

  options.cpu_quota = 8;
  options.memory_mb = 257;
  options.pids_limit = 65;
  options.execution_timeout_sec = 31;
  options.max_output_bytes = 1'048'577;
  CHECK(fields_of_problems(options) ==
        std::vector<std::string>{"cpu_quota", "memory_mb", "pids_limit", "execution_timeout_sec",
                                 "max_output_bytes"});
}

TEST_CASE("limits that can never work are refused") {
  CheckoutOptions options;
  options.pids_limit = 0;
  CHECK(fields_of_problems(options) == std::vector<std::string>{"pids_limit"});
}

TEST_CASE("a network policy may be narrower, never wider") {
  CheckoutOptions options;
  blueprint::NetworkPolicy& policy = options.network_policy.emplace();
  CHECK(fields_of_problems(options).empty());  // nothing at all
  policy.allowed_hosts = {"api.example.com"};
  policy.allowed_ports = {{"api.example.com", {80}}};
  CHECK(fields_of_problems(options).empty());
  policy.allowed_hosts = {"a.example.org", "*.b.example.org", "*.example.org"};
  policy.allowed_ports = {};
  CHECK(fields_of_problems(options).empty());

  policy.allowed_hosts = {"example.org"};  // "*." stands for at least one name
  CHECK(fields_of_problems(options) == std::vector<std::string>{"network_policy.allowed_hosts"});
  policy.allowed_hosts = {"badexample.org"};
  CHECK(fields_of_problems(options) == std::vector<std::string>{"network_policy.allowed_hosts"});
  policy.allowed_hosts = {"*.example.com"};
  CHECK(fields_of_problems(options) == std::vector<std::string>{"network_policy.allowed_hosts"});
  policy.allowed_hosts = {"a.example.org"};
  policy.default_port = 22;
  CHECK(fields_of_problems(options).size() == 1);
}

TEST_CASE("P17: a secret comes from the pool's map first, else from where others are looked up") {
  const auto find = [](const std::string& name) -> std::optional<Secret> {
    if (name == "ENV") return Secret("2");
    if (name == "BOTH") return Secret("env");
    return std::nullopt;
  };
  const Secrets secrets = resolve_secrets({"MAP", "ENV", "BOTH", "NEITHER"},
                                          {{"MAP", Secret("1")}, {"BOTH", Secret("map")}}, find);
  CHECK(secrets.values == std::map<std::string, Secret>{
                              {"MAP", Secret("1")}, {"ENV", Secret("2")}, {"BOTH", Secret("map")}});
  const Binding binding = bind(config(), secrets, {});
  CHECK(binding.secrets.values == secrets.values);
  CHECK(binding.secrets.names.size() == 4);  // a missing one is init's to refuse
}
