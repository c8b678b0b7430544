#include "runtime/register_settings.h"

#include "settings/source_text.h"

#include <utility>

namespace hearth::runtime {
namespace {

using settings::Diagnostic;

Diagnostic diagnostic_of(const registry::ToolProblem& problem, std::size_t declared_at,
                         const settings::LoadedSettings& loaded) {
  if (problem.file.empty()) {
    return loaded.diagnostic_for(
        {blueprint::element_of("tool", declared_at) + '.' + problem.field, problem.message});
  }
  Diagnostic diagnostic{.file = problem.file,
                        .line = problem.line,
                        .column = problem.column,
                        .message = "tool " + blueprint::in_quotes(problem.tool) +
                                   " does not compile: " + problem.message};
  return diagnostic;
}

}  // namespace

registry::ToolRegistry register_settings(const settings::Settings& settings) {
  registry::ToolRegistry registry;
  for (const blueprint::SandboxConfig& config : settings.blueprints)
    registry.register_blueprint(config);
  std::vector<registry::Tool> tools;
  for (const settings::ToolDeclaration& tool : settings.tools)
    tools.push_back(registry::tool_from_file(tool.config, tool.file));
  registry.register_tools(std::move(tools));
  return registry;
}

registry::ToolRegistry register_settings(const settings::LoadedSettings& loaded,
                                         const BackendTable& backends) {
  registry::ToolRegistry registry;
  for (const blueprint::SandboxConfig& config : loaded.settings.blueprints)
    registry.register_blueprint(config);

  std::vector<Diagnostic> diagnostics;
  if (std::string problem = problem_of_backend(backends, loaded.settings.pool.backend);
      !problem.empty())
    diagnostics.push_back(loaded.diagnostic_for({"pool.backend", std::move(problem)}));
  std::vector<registry::Tool> tools;
  std::vector<std::size_t> declared_at;  // of each tool that could be read
  const auto& declarations = loaded.settings.tools;
  std::size_t bytes = 0;
  // The registry complains about the first beyond its limits, so no further one is read.
  for (std::size_t index = 0; index < declarations.size() && tools.size() <= registry::most_tools &&
                              bytes <= registry::most_sources_bytes;
       ++index) {
    try {
      tools.push_back(
          registry::tool_from_file(declarations[index].config, declarations[index].file));
      declared_at.push_back(index);
      bytes += tools.back().source.size();
    } catch (const Error& error) {
      diagnostics.push_back(loaded.diagnostic_for(
          {blueprint::element_of("tool", index) + ".file", std::string("cannot ") + error.what()}));
    }
  }
  try {
    registry.register_tools(tools);
  } catch (const registry::ToolError& error) {
    for (const registry::ToolProblem& problem : error.problems) {
      diagnostics.push_back(diagnostic_of(problem, declared_at[problem.index], loaded));
      const settings::SourceText source(tools[problem.index].source);
      diagnostics.back().excerpt = source.excerpt(problem.line, problem.column);
    }
  }
  if (!diagnostics.empty()) throw settings::SettingsError(std::move(diagnostics));
  return registry;
}

}  // namespace hearth::runtime
