// blueprint/sandbox_config.h: what a kind of sandbox looks like, as plain data that can be made,
// checked and stored without a backend.
#pragma once

#include "base/enum_names.h"
#include "blueprint/network_policy.h"
#include "blueprint/problem.h"
#include "blueprint/resource_limits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::blueprint {

enum class ExecutionMode {
  plan,         // a whole script, then its final result
  interactive,  // step by step; variables stay for the next step
};
constexpr auto names_of(ExecutionMode /*type*/) {
  return enum_names<ExecutionMode>(
      {{ExecutionMode::plan, "plan"}, {ExecutionMode::interactive, "interactive"}});
}

// What sys.exit() in a script means: what it means to Python, or always an error.
enum class SysExit { python, error };
constexpr auto names_of(SysExit /*type*/) {
  return enum_names<SysExit>({{SysExit::python, "python"}, {SysExit::error, "error"}});
}

// What happens to a script whose output reaches max_output_bytes: it ends, or it runs on and the
// middle of its output is left out.
enum class OutputMode { fail, truncate };
constexpr auto names_of(OutputMode /*type*/) {
  return enum_names<OutputMode>({{OutputMode::fail, "fail"}, {OutputMode::truncate, "truncate"}});
}

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
  // `source` was given as a path of the engine's machine, which this one need not have.
  bool is_engines = false;
  bool operator==(const Mount&) const = default;
};

struct SandboxConfig {
  std::string name{};
  std::string python_version = "3.11";
  // The interpreter, on this machine. No key of a file: only a caller can mean a certain one.
  std::string python_path{};
  std::vector<std::string> dependencies{};  // PEP 508 requirements
  std::vector<std::string> preload{};       // modules that are imported once, before any script
  std::vector<FileResource> resources{};
  NetworkPolicy network_policy{};
  ResourceLimits resource_limits{};
  std::vector<std::string> secrets{};  // names only; values never enter a blueprint
  ExecutionMode execution_mode = ExecutionMode::plan;
  std::string language = "python";  // of scripts that name none; of the table in base/language.h
  SysExit sys_exit = SysExit::python;
  OutputMode output = OutputMode::fail;
  std::int64_t pool_size = 2;         // kept warm
  std::int64_t scratch_size_mb = 64;  // of /workspace, in memory
  bool operator==(const SandboxConfig&) const = default;
};

Problems problems_of(const FileResource& resource);
Problems problems_of(const SandboxConfig& config);

// The same in canonical spelling (paths without doubled or final slashes). Throws ConfigError with
// every problem.
FileResource validated(FileResource resource);
SandboxConfig validated(SandboxConfig config);

bool is_isolated(const SandboxConfig& config);

// The source is `resolved_host_path` (from a pool's prefix map) if there is one, else
// docker_host_path, else host_path.
Mount mount_of(const FileResource& resource,
               const std::optional<std::string>& resolved_host_path = std::nullopt);

// A copy that also requires `packages`, without repeating a requirement.
SandboxConfig with_tool_dependencies(const SandboxConfig& config,
                                     const std::vector<std::string>& packages);

}  // namespace hearth::blueprint
