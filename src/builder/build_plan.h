// builder/build_plan.h: all that decides what is built.
#pragma once

#include "builder/pip_command.h"
#include "registry/tool_registry.h"

#include <filesystem>
#include <string>
#include <vector>

namespace hearth::builder {

// A copy, since the registry belongs to the loop.
struct BuildPlan {
  struct ToolFile {
    std::string name{};
    std::string source{};
  };
  std::string blueprint{};
  std::string checksum{};
  std::string python_version{};
  std::filesystem::path python{};  // empty: one of that version is looked for
  std::vector<std::string> packages{};
  std::vector<ToolFile> tools{};
  std::vector<std::string> preload{};
  bool is_anew = false;  // built although it is there
};

// Throws UnknownBlueprint.
BuildPlan plan_of(const registry::ToolRegistry& registry, std::string blueprint_name);

// The same for its interpreter on this machine.
std::string environment_checksum(const std::string& checksum, const std::filesystem::path& python);
// With packages, the checksum is also of where they come from.
std::string environment_checksum(const registry::ToolRegistry& registry,
                                 const std::string& blueprint_name, const PipOptions& options);

}  // namespace hearth::builder
