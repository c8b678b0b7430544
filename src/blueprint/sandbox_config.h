// blueprint/sandbox_config.h: what a kind of sandbox looks like, as plain data. Says what is
// wanted, never how an engine or a kernel is told: no daemon is needed to make, check or store one.
#pragma once

#include "blueprint/problem.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blueprint {

enum class ExecutionMode {
  plan,         // a whole script, then its final result
  interactive,  // step by step; variables stay for the next step
};

struct ResourceLimits {
  double cpu_quota = 0.5;  // cores
  std::int64_t memory_mb = 256;
  std::int64_t memory_swap_mb = -1;  // memory and swap together; -1: unlimited, 0: no swap at all
  std::int64_t pids_limit = 64;      // processes and threads
  std::int64_t execution_timeout_sec = 30;  // wall clock
  std::int64_t max_output_bytes = 1'048'576;
  std::int64_t disk_read_mb_per_sec = 0;  // from each disk of the host; 0: unlimited
  bool operator==(const ResourceLimits&) const = default;
};

struct NetworkPolicy {
  std::vector<std::string> allowed_hosts{};  // host_pattern.h says what is allowed
  std::map<std::string, std::vector<std::int64_t>> allowed_ports{};  // by allowed host
  std::int64_t default_port = 443;  // for hosts without an entry in allowed_ports
  bool operator==(const NetworkPolicy&) const = default;
};

struct FileResource {
  std::string host_path{};       // as this process sees it
  std::string container_path{};  // as a script sees it
  bool read_only = true;
  // As the engine's host sees it, when this process runs in a container of its own.
  std::optional<std::string> docker_host_path{};
  bool operator==(const FileResource&) const = default;
};

struct Mount {
  std::string source{};
  std::string target{};
  bool read_only = true;
  bool operator==(const Mount&) const = default;
};

struct SandboxConfig {
  std::string name{};
  std::string python_version = "3.11";
  std::vector<std::string> dependencies{};  // PEP 508 requirements
  std::vector<std::string> preload{};       // modules that are imported once, before any script
  std::vector<FileResource> resources{};
  NetworkPolicy network_policy{};
  ResourceLimits resource_limits{};
  std::vector<std::string> secrets{};  // names only; values never enter a blueprint
  ExecutionMode execution_mode = ExecutionMode::plan;
  std::int64_t pool_size = 2;         // kept warm
  std::int64_t scratch_size_mb = 64;  // of /workspace, in memory
  bool operator==(const SandboxConfig&) const = default;
};

Problems problems_of(const ResourceLimits& limits);
Problems problems_of(const NetworkPolicy& policy);
Problems problems_of(const FileResource& resource);
Problems problems_of(const SandboxConfig& config);

// The same in its one spelling (hosts in lower case without a final dot, paths without doubled or
// final slashes), or ConfigError with every problem.
ResourceLimits validated(ResourceLimits limits);
NetworkPolicy validated(const NetworkPolicy& policy);
FileResource validated(FileResource resource);
SandboxConfig validated(SandboxConfig config);

// No host is allowed: such a sandbox has no network interface but its loopback, and no proxy.
bool is_isolated(const NetworkPolicy& policy);
bool is_isolated(const SandboxConfig& config);

// `host:port,host:port`, sorted by host, then port; what a proxy is told to let through. Throws
// ConfigError on a policy that is not valid.
std::string allowlist_env(const NetworkPolicy& policy);

// The source is `resolved_host_path` (from a pool's prefix map) if there is one, else
// docker_host_path, else host_path.
Mount mount_of(const FileResource& resource,
               const std::optional<std::string>& resolved_host_path = std::nullopt);

// A copy that also asks for `packages`; one that is there already is not repeated.
SandboxConfig with_tool_dependencies(const SandboxConfig& config,
                                     const std::vector<std::string>& packages);

// `python:<version>-slim`
std::string base_image(const SandboxConfig& config);

}  // namespace hearth::blueprint
