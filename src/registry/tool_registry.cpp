#include "registry/tool_registry.h"

#include "base/joined.h"
#include "base/nearest.h"
#include "blueprint/requirement.h"
#include "registry/compile_check.h"
#include "registry/digest.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

namespace hearth::registry {
namespace {

using blueprint::in_quotes;

constexpr std::size_t most_names_in_message = 20;

std::string known_blueprints(const std::vector<std::string>& known) {
  if (known.empty()) return "there is none";
  const std::span shown(known.data(), std::min(known.size(), most_names_in_message));
  std::string text = (known.size() == 1 ? "there is " : "there are ") + joined(shown, ", ");
  if (known.size() > most_names_in_message)
    text += " and " + std::to_string(known.size() - most_names_in_message) + " more";
  return text;
}

ToolProblem problem_of(const Tool& tool, std::size_t index, std::string field,
                       std::string message) {
  return {.index = index,
          .tool = tool.config.name,
          .field = std::move(field),
          .message = std::move(message)};
}

}  // namespace

UnknownBlueprint::UnknownBlueprint(std::string_view wanted, std::vector<std::string> existing)
    : Error("there is no blueprint " + in_quotes(wanted) + "; " + known_blueprints(existing) +
            suggestion(wanted, existing)),
      name(wanted),
      known(std::move(existing)) {}

void ToolRegistry::register_blueprint(blueprint::SandboxConfig config) {
  blueprint::SandboxConfig valid = blueprint::validated(std::move(config));
  if (blueprints_.contains(valid.name)) {
    throw blueprint::ConfigError("blueprint " + in_quotes(valid.name),
                                 {{"name", "is registered already: " + in_quotes(valid.name)}});
  }
  const std::string name = valid.name;
  blueprints_.emplace(name, Entry{std::move(valid), {}});
}

void ToolRegistry::register_tool(Tool tool) {
  std::vector<Tool> tools;
  tools.push_back(std::move(tool));
  register_tools(std::move(tools));
}

void ToolRegistry::register_tools(std::vector<Tool> tools) {
  if (std::vector<ToolProblem> excess = excess_problems(tools); !excess.empty())
    throw ToolError(std::move(excess));
  std::multimap<std::size_t, ToolProblem> by_tool;
  for (ToolProblem& problem : registration_problems(tools))
    by_tool.emplace(problem.index, std::move(problem));
  for (ToolProblem& problem : source_problems(tools))
    by_tool.emplace(problem.index, std::move(problem));
  if (!by_tool.empty()) {
    std::vector<ToolProblem> problems;
    for (auto& [index, problem] : by_tool) problems.push_back(std::move(problem));
    throw ToolError(std::move(problems));
  }
  for (Tool& tool : tools) keep(std::move(tool));
}

void ToolRegistry::keep(Tool tool) {
  const std::string name = tool.config.name;
  for (const std::string& blueprint : tool.config.blueprints) {
    std::vector<std::string>& names = blueprints_.find(blueprint)->second.tools;
    names.insert(std::upper_bound(names.begin(), names.end(), name), name);
  }
  tools_.emplace(name, std::move(tool));
}

std::vector<ToolProblem> ToolRegistry::excess_problems(const std::vector<Tool>& tools) const {
  std::size_t bytes = 0;
  for (const auto& [name, tool] : tools_) bytes += tool.source.size();
  for (std::size_t index = 0; index < tools.size(); ++index) {
    bytes += tools[index].source.size();
    if (tools_.size() + index >= most_tools)
      return {problem_of(
          tools[index], index, "name",
          "is one tool more than the " + std::to_string(most_tools) + " that there may be")};
    if (bytes > most_sources_bytes)
      return {problem_of(tools[index], index, "source",
                         "is beyond the " + std::to_string(most_sources_bytes) +
                             " bytes that all tools together may have")};
  }
  return {};
}

std::vector<ToolProblem> ToolRegistry::registration_problems(const std::vector<Tool>& tools) const {
  std::vector<ToolProblem> problems;
  std::unordered_set<std::string> names;
  const std::vector<std::string> known = blueprint_names();
  for (std::size_t index = 0; index < tools.size(); ++index) {
    const Tool& tool = tools[index];
    for (blueprint::Problem& problem : blueprint::problems_of(tool.config))
      problems.push_back(problem_of(tool, index, problem.field, problem.message));
    if (tools_.contains(tool.config.name) || !names.insert(tool.config.name).second)
      problems.push_back(
          problem_of(tool, index, "name", "is registered already: " + in_quotes(tool.config.name)));
    if (tool.source.size() > most_source_bytes)
      problems.push_back(problem_of(
          tool, index, "source",
          "is larger than the " + std::to_string(most_source_bytes) + " bytes a tool may have"));
    for (std::size_t at = 0; at < tool.config.blueprints.size(); ++at) {
      const std::string& blueprint = tool.config.blueprints[at];
      if (blueprints_.contains(blueprint)) continue;
      problems.push_back(problem_of(tool, index, blueprint::element_of("blueprints", at),
                                    "names the unknown blueprint " + in_quotes(blueprint) + "; " +
                                        known_blueprints(known) + suggestion(blueprint, known)));
    }
  }
  return problems;
}

std::vector<ToolProblem> ToolRegistry::source_problems(const std::vector<Tool>& tools) const {
  std::vector<CompileJob> jobs;
  for (std::size_t index = 0; index < tools.size(); ++index) {
    if (tools[index].source.size() > most_source_bytes) continue;
    CompileJob job{&tools[index], index, {}};
    bool found = false;
    for (const std::string& name : tools[index].config.blueprints) {
      const auto blueprint = blueprints_.find(name);
      if (blueprint == blueprints_.end()) continue;
      const PythonVersion version = python_version_of(blueprint->second.config.python_version);
      if (!found || version < job.oldest_python) job.oldest_python = version;
      found = true;
    }
    jobs.push_back(job);
  }
  return compile_problems(jobs, options_.python);
}

const ToolRegistry::Entry& ToolRegistry::entry(std::string_view name) const {
  const auto found = blueprints_.find(name);
  if (found == blueprints_.end()) throw UnknownBlueprint(name, blueprint_names());
  return found->second;
}

const blueprint::SandboxConfig& ToolRegistry::blueprint(std::string_view name) const {
  return entry(name).config;
}

std::vector<const Tool*> ToolRegistry::tools_of(std::string_view blueprint) const {
  std::vector<const Tool*> tools;
  for (const std::string& name : entry(blueprint).tools)
    tools.push_back(&tools_.find(name)->second);
  return tools;
}

std::vector<std::string> ToolRegistry::packages_of(std::string_view blueprint) const {
  std::vector<std::string> packages;
  for (const Tool* tool : tools_of(blueprint))
    packages.insert(packages.end(), tool->config.packages.begin(), tool->config.packages.end());
  return blueprint::canonical_requirements(
      blueprint::with_tool_dependencies(entry(blueprint).config, packages).dependencies);
}

std::vector<std::string> ToolRegistry::secret_names_of(std::string_view blueprint) const {
  std::vector<std::string> names = entry(blueprint).config.secrets;
  for (const Tool* tool : tools_of(blueprint))
    names.insert(names.end(), tool->config.secrets.begin(), tool->config.secrets.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ToolRegistry::blueprint_checksum(std::string_view name) const {
  return checksum(name, tools_of(name));
}

std::string ToolRegistry::checksum_without_tools(std::string_view name) const {
  return checksum(name, {});
}

std::string ToolRegistry::checksum(std::string_view name,
                                   const std::vector<const Tool*>& tools) const {
  const blueprint::SandboxConfig& config = blueprint(name);
  std::vector<std::string> preload = config.preload;
  std::sort(preload.begin(), preload.end());

  Digest digest;
  digest.add("hearth environment 1");  // of this serialisation; raise it when it changes
  digest.add(options_.harness_version);
  digest.add(config.python_version);
  digest.add_list(packages_of(name));
  digest.add_list(preload);
  digest.add_count(tools.size());
  for (const Tool* tool : tools) {
    digest.add(tool->config.name);
    digest.add(tool->source);
  }
  return digest.finish();
}

std::vector<std::string> ToolRegistry::blueprint_names() const {
  std::vector<std::string> names;
  names.reserve(blueprints_.size());
  for (const auto& [name, unused] : blueprints_) names.push_back(name);
  return names;
}

}  // namespace hearth::registry
