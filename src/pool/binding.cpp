#include "pool/binding.h"

#include "blueprint/policy_within.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::pool {
namespace {

using blueprint::Problems;

template <typename T>
void tighten(Problems& problems, const char* field, T& limit, const std::optional<T>& wanted) {
  if (!wanted) return;
  if (*wanted > limit)
    problems.push_back(
        {field, fmt::format("must be at most {}, as in the blueprint, is {}", limit, *wanted)});
  limit = *wanted;
}

blueprint::ResourceLimits tightened(Problems& problems, blueprint::ResourceLimits limits,
                                    const CheckoutOptions& options) {
  tighten(problems, "cpu_quota", limits.cpu_quota, options.cpu_quota);
  tighten(problems, "memory_mb", limits.memory_mb, options.memory_mb);
  tighten(problems, "pids_limit", limits.pids_limit, options.pids_limit);
  tighten(problems, "execution_timeout_sec", limits.execution_timeout_sec,
          options.execution_timeout_sec);
  tighten(problems, "max_output_bytes", limits.max_output_bytes, options.max_output_bytes);
  for (blueprint::Problem& problem : problems_of(limits)) problems.push_back(std::move(problem));
  return limits;
}

blueprint::NetworkPolicy narrowed(Problems& problems, const blueprint::NetworkPolicy& allowed,
                                  const std::optional<blueprint::NetworkPolicy>& wanted) {
  if (!wanted) return allowed;
  Problems own = problems_of(*wanted);
  if (own.empty()) own = blueprint::problems_of_wider(*wanted, allowed);
  append_under(problems, "network_policy", std::move(own));
  return *wanted;
}

}  // namespace

Secrets resolve_secrets(std::vector<std::string> names, const std::map<std::string, Secret>& given,
                        const FindSecret& find, const PlaceOfSecret& place_of) {
  Secrets secrets{.names = std::move(names)};
  for (const std::string& name : secrets.names) {
    if (const auto found = given.find(name); found != given.end())
      secrets.values.emplace(*found);
    else if (std::optional<Secret> value = find ? find(name) : std::nullopt)
      secrets.values.emplace(name, *std::move(value));
    else if (place_of)
      secrets.places.emplace(name, place_of(name));
  }
  return secrets;
}

Binding bind(const blueprint::SandboxConfig& config, const Secrets& secrets,
             CheckoutOptions options) {
  Problems problems;
  Binding binding{.blueprint = config.name,
                  .owner = options.owner ? *std::move(options.owner) : Owner::unique()};
  binding.limits = tightened(problems, config.resource_limits, options);
  binding.network_policy = narrowed(problems, config.network_policy, options.network_policy);
  if (!problems.empty())
    throw blueprint::ConfigError("a checkout of \"" + config.name + "\"", std::move(problems));
  binding.labels = std::move(options.labels);
  binding.env = std::move(options.env);
  binding.secrets = secrets;
  binding.files = std::move(options.files);
  binding.scratch_size_mb = config.scratch_size_mb;
  binding.mode = config.execution_mode;
  binding.language = config.language;
  binding.sys_exit = config.sys_exit;
  binding.output = config.output;
  binding.beyond_capacity = options.beyond_capacity;
  binding.patience = options.patience.value_or(usual_checkout_timeout);
  return binding;
}

}  // namespace hearth::pool
