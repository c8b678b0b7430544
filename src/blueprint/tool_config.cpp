#include "blueprint/tool_config.h"

#include "blueprint/checks.h"
#include "blueprint/python_names.h"

namespace hearth::blueprint {
namespace {

constexpr std::size_t longest_name = 63;

void check_name(Problems& problems, const std::string& name) {
  if (name.empty()) {
    problems.push_back({"name", "is missing; every tool needs a name"});
  } else if (!is_python_identifier(name) || name.size() > longest_name) {
    problems.push_back(
        {"name", "must be a Python identifier of at most 63 ASCII letters, is " + in_quotes(name)});
  }
}

}  // namespace

Problems problems_of(const ToolConfig& tool) {
  Problems problems;
  check_name(problems, tool.name);
  if (tool.blueprints.empty())
    problems.push_back(
        {"blueprints", "is empty; name the blueprints whose scripts may call the tool"});
  for (std::size_t index = 0; index < tool.blueprints.size(); ++index)
    check_blueprint_name(problems, element_of("blueprints", index), tool.blueprints[index]);
  check_no_duplicates(problems, "blueprints", tool.blueprints);
  check_requirements(problems, "packages", tool.packages);
  check_secret_names(problems, "secrets", tool.secrets);
  return problems;
}

}  // namespace hearth::blueprint
