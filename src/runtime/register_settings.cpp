#include "runtime/register_settings.h"

#include "settings/source_text.h"

#include <set>
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

// The files of a configuration's tools, and what is wrong with them.
class ToolFiles {
 public:
  explicit ToolFiles(const settings::LoadedSettings& loaded) : loaded_(loaded) {}

  void read(const std::vector<settings::ToolDeclaration>& declarations) {
    std::size_t bytes = 0;
    // The registry complains about the first beyond its limits, so no further one is read.
    for (std::size_t index = 0;
         index < declarations.size() && tools_.size() <= registry::most_tools &&
         bytes <= registry::most_sources_bytes;
         ++index) {
      if (declarations[index].file.empty()) continue;
      try {
        tools_.push_back(
            registry::tool_from_file(declarations[index].config, declarations[index].file));
        declared_at_.push_back(index);
        bytes += tools_.back().source.size();
      } catch (const Error& error) {
        diagnostics_.push_back(
            loaded_.diagnostic_for({blueprint::element_of("tool", index) + ".file",
                                    std::string("cannot ") + error.what()}));
      }
    }
  }

  void register_at(registry::ToolRegistry& registry) {
    try {
      registry.register_tools(tools_);
    } catch (const registry::ToolError& error) {
      for (const registry::ToolProblem& problem : error.problems) {
        diagnostics_.push_back(diagnostic_of(problem, declared_at_[problem.index], loaded_));
        const settings::SourceText source(tools_[problem.index].source);
        diagnostics_.back().excerpt = source.excerpt(problem.line, problem.column);
      }
    }
  }

  std::vector<Diagnostic> take_diagnostics() { return std::move(diagnostics_); }

 private:
  const settings::LoadedSettings& loaded_;
  std::vector<registry::Tool> tools_;
  std::vector<std::size_t> declared_at_;  // of each tool that could be read
  std::vector<Diagnostic> diagnostics_;
};

// Of the tools of a configuration that has other problems: for the blueprints that are valid.
std::vector<Diagnostic> tool_problems(const settings::LoadedSettings& loaded) {
  registry::ToolRegistry registry;
  std::set<std::string> names;
  for (const blueprint::SandboxConfig& config : loaded.settings.blueprints)
    if (blueprint::problems_of(config).empty() && names.insert(config.name).second)
      registry.register_blueprint(config);
  std::vector<settings::ToolDeclaration> tools = loaded.settings.tools;
  std::set<std::string> tool_names;
  for (settings::ToolDeclaration& tool : tools) {
    std::erase_if(tool.config.blueprints,
                  [&](const std::string& name) { return !names.contains(name); });
    // What the text gets wrong is reported already.
    const bool is_usable = blueprint::problems_of(tool.config).empty() &&
                           tool.file.find('\0') == std::string::npos &&
                           tool_names.insert(tool.config.name).second;
    if (!is_usable) tool.file.clear();
  }
  ToolFiles files(loaded);
  files.read(tools);
  files.register_at(registry);
  return files.take_diagnostics();
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

settings::LoadedSettings load_configuration(settings::SettingsInput input,
                                            const BackendTable& backends) {
  input.plain_blueprint = [&backends](const settings::Settings& settings) {
    return plain_blueprint(settings.pool.backend, backends);
  };
  input.further_problems = tool_problems;
  return settings::load_settings(std::move(input));
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
  ToolFiles files(loaded);
  files.read(loaded.settings.tools);
  files.register_at(registry);
  for (Diagnostic& diagnostic : files.take_diagnostics())
    diagnostics.push_back(std::move(diagnostic));
  if (!diagnostics.empty()) throw settings::SettingsError(std::move(diagnostics));
  return registry;
}

}  // namespace hearth::runtime
