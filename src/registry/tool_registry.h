// registry/tool_registry.h: the blueprints and tools of one process, and the checksum of the
// environment each blueprint needs. Builds nothing and talks to no daemon.
#pragma once

#include "base/error.h"
#include "blueprint/sandbox_config.h"
#include "registry/harness_version.h"
#include "registry/tool.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::registry {

struct UnknownBlueprint : Error {
  UnknownBlueprint(std::string_view wanted, std::vector<std::string> existing);
  std::string name;
  std::vector<std::string> known;
};

struct RegistryOptions {
  std::string harness_version = std::string(registry::harness_version);
  std::string python = "python3";  // checks that tools compile
};

class ToolRegistry {
 public:
  explicit ToolRegistry(RegistryOptions options = {}) : options_(std::move(options)) {}

  // ConfigError when it is not valid or its name is taken.
  void register_blueprint(blueprint::SandboxConfig config);

  // ToolError with every problem, and then none is registered. Its sandboxes must be registered.
  // Blocks while Python looks at the sources: once, however many tools there are.
  void register_tools(std::vector<Tool> tools);
  void register_tool(Tool tool);

  // These throw UnknownBlueprint.
  const blueprint::SandboxConfig& blueprint(std::string_view name) const;
  std::vector<const Tool*> tools_of(std::string_view blueprint) const;  // sorted by name
  // Of the blueprint and its tools, each once, in one spelling, sorted.
  std::vector<std::string> packages_of(std::string_view blueprint) const;
  // The same for the names of secrets.
  std::vector<std::string> secret_names_of(std::string_view blueprint) const;
  // Changes with the harness's version, the Python version, packages, preloaded modules and any
  // byte of a tool; not with the order of anything. 64 hexadecimal digits.
  std::string blueprint_checksum(std::string_view name) const;
  // The same but for the tools themselves, for an environment that tools are mounted into. Their
  // packages are part of it.
  std::string checksum_without_tools(std::string_view name) const;

  std::vector<std::string> blueprint_names() const;  // sorted

 private:
  struct Entry {
    blueprint::SandboxConfig config;
    std::vector<std::string> tools;  // sorted names
  };
  const Entry& entry(std::string_view name) const;
  std::string checksum(std::string_view name, const std::vector<const Tool*>& tools) const;
  // At most one: the first tool beyond what all of them together may be.
  std::vector<ToolProblem> excess_problems(const std::vector<Tool>& tools) const;
  std::vector<ToolProblem> registration_problems(const std::vector<Tool>& tools) const;
  std::vector<ToolProblem> source_problems(const std::vector<Tool>& tools) const;
  void keep(Tool tool);

  RegistryOptions options_;
  std::map<std::string, Entry, std::less<>> blueprints_;
  std::map<std::string, Tool, std::less<>> tools_;
};

}  // namespace hearth::registry
