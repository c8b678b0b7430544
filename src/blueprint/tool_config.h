// blueprint/tool_config.h: what is said about a tool beside its source.
#pragma once

#include "blueprint/problem.h"

#include <string>
#include <vector>

namespace hearth::blueprint {

struct ToolConfig {
  std::string name{};                     // a Python identifier: it becomes /tools/<name>.py
  std::vector<std::string> blueprints{};  // where scripts may call it
  std::vector<std::string> packages{};    // PEP 508 requirements, installed in those sandboxes
  std::vector<std::string> secrets{};     // names only
  bool operator==(const ToolConfig&) const = default;
};

// Whether the sandboxes exist is for the registry to say.
Problems problems_of(const ToolConfig& tool);

}  // namespace hearth::blueprint
