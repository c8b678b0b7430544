// registry/tool.h: a tool with its source, and what can be wrong with one.
#pragma once

#include "base/error.h"
#include "blueprint/tool_config.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace hearth::registry {

struct Tool {
  blueprint::ToolConfig config{};
  std::string source{};
  std::string file{};  // where the source is from, for messages; empty: it was given as text

  // What a traceback would call it.
  std::string origin() const { return file.empty() ? "<tool " + config.name + '>' : file; }
};

inline constexpr std::size_t most_source_bytes = 1'048'576;
// Of all tools of a registry together.
inline constexpr std::size_t most_tools = 4096;
inline constexpr std::size_t most_sources_bytes = 16'777'216;

// OsError when the file cannot be read, os::UntrustedPath when another user could have written it,
// Error when it is larger than any tool should be.
Tool tool_from_file(blueprint::ToolConfig config, const std::filesystem::path& file);

struct ToolProblem {
  std::size_t index = 0;  // of the tool in the batch
  std::string tool{};     // its name
  std::string field{};    // of its ToolConfig; empty when the source is wrong
  std::string file{};     // with `line` and `column` (from 1), when the source is wrong
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message{};
};

std::string to_string(const ToolProblem& problem);

// No tool of the batch was registered.
struct ToolError : Error {
  explicit ToolError(std::vector<ToolProblem> found);
  std::vector<ToolProblem> problems;
};

}  // namespace hearth::registry
