// blueprint/fields.h: the fields of each struct by name, said once. JSON in, JSON out, TOML, known
// keys: all of them walk these lists.
#pragma once

#include "blueprint/sandbox_config.h"
#include "blueprint/tool_config.h"

#include <concepts>
#include <string_view>
#include <type_traits>

namespace hearth::blueprint {

// Const or not: the same list serves reading and writing.
template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

template <MaybeConst<ResourceLimits> Self, typename Visit>
void for_each_field(Self& limits, Visit&& visit) {
  visit("cpu_quota", limits.cpu_quota);
  visit("memory_mb", limits.memory_mb);
  visit("memory_swap_mb", limits.memory_swap_mb);
  visit("pids_limit", limits.pids_limit);
  visit("execution_timeout_sec", limits.execution_timeout_sec);
  visit("max_output_bytes", limits.max_output_bytes);
  visit("disk_read_mb_per_sec", limits.disk_read_mb_per_sec);
}

template <MaybeConst<NetworkPolicy> Self, typename Visit>
void for_each_field(Self& policy, Visit&& visit) {
  visit("allowed_hosts", policy.allowed_hosts);
  visit("allowed_ports", policy.allowed_ports);
  visit("default_port", policy.default_port);
}

template <MaybeConst<FileResource> Self, typename Visit>
void for_each_field(Self& resource, Visit&& visit) {
  visit("host_path", resource.host_path);
  visit("container_path", resource.container_path);
  visit("read_only", resource.read_only);
  visit("docker_host_path", resource.docker_host_path);
}

template <MaybeConst<SandboxConfig> Self, typename Visit>
void for_each_field(Self& config, Visit&& visit) {
  visit("name", config.name);
  visit("python_version", config.python_version);
  visit("dependencies", config.dependencies);
  visit("preload", config.preload);
  visit("secrets", config.secrets);
  visit("execution_mode", config.execution_mode);
  visit("language", config.language);
  visit("sys_exit", config.sys_exit);
  visit("output", config.output);
  visit("pool_size", config.pool_size);
  visit("scratch_size_mb", config.scratch_size_mb);
  visit("resource_limits", config.resource_limits);
  visit("network_policy", config.network_policy);
  visit("resources", config.resources);
}

template <MaybeConst<ToolConfig> Self, typename Visit>
void for_each_field(Self& tool, Visit&& visit) {
  visit("name", tool.name);
  visit("blueprints", tool.blueprints);
  visit("packages", tool.packages);
  visit("secrets", tool.secrets);
}

template <typename T>
concept Described = std::is_class_v<T> && requires(T& described) {
  for_each_field(described, [](std::string_view, auto&) {});
};

}  // namespace hearth::blueprint
