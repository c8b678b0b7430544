#include "settings/load.h"

#include "blueprint/decode.h"
#include "os/trusted_path.h"
#include "settings/advice.h"
#include "settings/found_configuration.h"
#include "settings/settings_fields.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace hearth::settings {
namespace {

namespace fs = std::filesystem;
using blueprint::Problem;
using blueprint::Problems;

// A secret's value may have been written there, whatever is wrong.
bool is_confidential(const Problem& problem) {
  return problem.confidential || problem.field == "secrets" ||
         problem.field.starts_with("secrets.");
}

// What a value that could not be read would cause again is not repeated.
void append_new(Problems& problems, Problems more) {
  std::unordered_set<std::string> fields;
  for (const Problem& problem : problems) fields.insert(problem.field);
  for (Problem& problem : more) {
    if (!fields.contains(problem.field)) problems.push_back(std::move(problem));
  }
}

// Without its excerpt.
Diagnostic located(const Problem& problem, const LoadedSettings& loaded) {
  // What is wrong with an element is wrong with the list that was overridden.
  const auto origin = loaded.origins.find(problem.field.substr(0, problem.field.find('[')));
  if (origin != loaded.origins.end())
    return {.file = origin->second, .key = problem.field, .message = problem.message};
  const Position at = loaded.document->locate(problem.field, problem.about_key);
  return {.file = loaded.file,
          .line = at.line,
          .column = at.column,
          .key = problem.field,
          .message = problem.message};
}

Excerpt excerpt_for(const Diagnostic& diagnostic, const LoadedSettings& loaded) {
  return loaded.document->source().excerpt(diagnostic.line, diagnostic.column);
}

[[noreturn]] void throw_sorted(std::vector<Diagnostic> diagnostics, const Problems& problems,
                               const LoadedSettings& loaded) {
  std::unordered_set<std::size_t> hidden_lines;
  for (const Problem& problem : problems) {
    diagnostics.push_back(located(problem, loaded));
    if (is_confidential(problem)) hidden_lines.insert(diagnostics.back().line);
  }
  const auto place = [&](const Diagnostic& diagnostic) {
    // Other files, those of tools, come after this one.
    const bool is_elsewhere = diagnostic.line > 0 && diagnostic.file != loaded.file;
    const std::string_view other_file = is_elsewhere ? diagnostic.file : std::string_view();
    return std::tuple(other_file, diagnostic.line, diagnostic.column,
                      std::string_view(diagnostic.key), std::string_view(diagnostic.message));
  };
  std::sort(diagnostics.begin(), diagnostics.end(),
            [&](const auto& left, const auto& right) { return place(left) < place(right); });
  // Excerpts come last: thousands of problems may stand on one long line.
  const std::size_t shown = std::min(diagnostics.size(), most_diagnostics);
  const std::size_t left_out = diagnostics.size() - shown;
  diagnostics.resize(shown);
  for (Diagnostic& diagnostic : diagnostics) {
    // Another problem on the same line must not show what a confidential one hides.
    if (diagnostic.file == loaded.file && !hidden_lines.contains(diagnostic.line))
      diagnostic.excerpt = excerpt_for(diagnostic, loaded);
  }
  throw SettingsError(std::move(diagnostics), left_out);
}

// A value from the environment or the command line is its user's own.
Problems without_overridden(Problems problems, const Origins& origins) {
  std::erase_if(problems, [&](const Problem& problem) {
    return origins.contains(problem.field.substr(0, problem.field.find('[')));
  });
  return problems;
}

void resolve_paths(Settings& settings, const fs::path& folder) {
  for (ToolDeclaration& tool : settings.tools) tool.file = (folder / tool.file).lexically_normal();
  for (std::string& directory : settings.builder.find_links)
    directory = (folder / directory).lexically_normal();
  for (auto& [name, source] : settings.secrets) {
    if (source.file) source.file = (folder / *source.file).lexically_normal();
  }
}

}  // namespace

Diagnostic LoadedSettings::diagnostic_for(const Problem& problem) const {
  Diagnostic diagnostic = located(problem, *this);
  if (!is_confidential(problem)) diagnostic.excerpt = excerpt_for(diagnostic, *this);
  return diagnostic;
}

LoadedSettings load_settings(SettingsInput input) {
  LoadedSettings loaded;
  loaded.file = input.file.string();
  loaded.document = std::make_shared<const TomlDocument>(std::move(input.text), loaded.file);

  blueprint::Decoder decoder(advice_for_toml());
  boost::json::value tree = loaded.document->to_tree(decoder.problems());
  OverrideResult overrides = apply_overrides(tree.as_object(), input.env, input.command_line);
  loaded.origins = std::move(overrides.origins);
  loaded.warnings = std::move(overrides.warnings);

  decoder.read(tree, blueprint::Path{}, loaded.settings);
  if (loaded.settings.blueprints.empty() && input.plain_blueprint)
    loaded.settings.blueprints = {input.plain_blueprint(loaded.settings)};
  Problems problems = std::move(decoder.problems());
  append_new(problems, problems_of(loaded.settings));
  const fs::path folder = fs::absolute(input.file).parent_path();
  resolve_paths(loaded.settings, folder);
  std::vector<Diagnostic> diagnostics;
  for (Problem& problem : overrides.problems)
    diagnostics.push_back({.file = problem.field, .message = problem.message});
  if (!problems.empty() || !diagnostics.empty()) {
    // A tool of a file that was only found may be any file: it is not read before that is judged.
    if (input.was_named && input.further_problems)
      for (Diagnostic& further : input.further_problems(loaded))
        diagnostics.push_back(std::move(further));
    throw_sorted(std::move(diagnostics), problems, loaded);
  }
  for (blueprint::SandboxConfig& config : loaded.settings.blueprints)
    config = blueprint::validated(std::move(config));
  if (!input.was_named)
    problems = without_overridden(problems_of_found_configuration(loaded.settings, folder),
                                  loaded.origins);
  if (!problems.empty()) throw_sorted({}, problems, loaded);
  return loaded;
}

SettingsFile find_settings_file(const std::optional<fs::path>& named, const Env& env) {
  if (named) return {*named};
  const auto variable = env.find("HEARTH_CONFIG");
  if (variable != env.end() && !variable->second.empty()) return {variable->second};
  std::error_code ignored;
  if (fs::exists("hearth.toml", ignored)) return {.path = "hearth.toml", .was_named = false};
  if (fs::exists("/etc/hearth/hearth.toml", ignored)) return {"/etc/hearth/hearth.toml"};
  throw Error(
      "no configuration: name a file, set HEARTH_CONFIG, or write ./hearth.toml or "
      "/etc/hearth/hearth.toml (`hearth init` writes one to start with)");
}

SettingsInput read_settings_input(const SettingsFile& file, Env env,
                                  std::vector<CommandLineSetting> command_line) {
  // A repository's link would make an error message quote the file that it leads to.
  std::error_code failed;
  if (!file.was_named && !fs::is_regular_file(fs::symlink_status(file.path, failed)))
    throw Error(file.path.string() +
                " was only found in the current directory and is no file itself; name it with "
                "--config or HEARTH_CONFIG if you trust it");
  return {.file = file.path,
          .text = os::read_trusted_file(
              file.path, file.was_named ? most_settings_bytes : most_found_settings_bytes),
          .env = std::move(env),
          .command_line = std::move(command_line),
          .was_named = file.was_named};
}

}  // namespace hearth::settings
