#include "registry/tool.h"

#include "base/joined.h"
#include "blueprint/problem.h"
#include "os/trusted_path.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::registry {
namespace {

std::string in_words(const std::vector<ToolProblem>& problems) {
  return joined(problems, "; ", [](const ToolProblem& problem) { return to_string(problem); });
}

}  // namespace

Tool tool_from_file(blueprint::ToolConfig config, const std::filesystem::path& file) {
  std::string source = os::read_trusted_file(file, most_source_bytes);
  return {std::move(config), std::move(source), file.string()};
}

std::string to_string(const ToolProblem& problem) {
  if (!problem.file.empty())
    return fmt::format("{}:{}:{}: {}", problem.file, problem.line, problem.column, problem.message);
  return fmt::format("tool {}: {} {}", blueprint::in_quotes(problem.tool), problem.field,
                     problem.message);
}

ToolError::ToolError(std::vector<ToolProblem> found)
    : Error(in_words(found)), problems(std::move(found)) {}

}  // namespace hearth::registry
