#include "blueprint/sandbox_config.h"

#include "base/language.h"
#include "blueprint/checks.h"
#include "blueprint/cursor.h"
#include "blueprint/file_resource.h"
#include "blueprint/python_names.h"
#include "blueprint/requirement.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

namespace hearth::blueprint {
namespace {

constexpr std::int64_t most_pooled = 10'000;
constexpr std::int64_t most_scratch_mb = 1'048'576;  // 1 TiB
constexpr int oldest_minor_version = 8;              // what the harness is written for

// One number of a version: up to three digits, no leading zero; -1 if there is none.
int take_number(Cursor& cursor) {
  const std::string_view digits = cursor.take_while(is_ascii_digit);
  if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits.front() == '0'))
    return -1;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// A version that does not exist yet is well-formed: the builder reports it.
void check_python_version(Problems& problems, const std::string& version) {
  Cursor cursor(version);
  const int major = take_number(cursor);
  bool well_formed = major >= 0 && cursor.accept(".");
  const int minor = well_formed ? take_number(cursor) : -1;
  well_formed = well_formed && minor >= 0;
  if (well_formed && cursor.accept(".")) well_formed = take_number(cursor) >= 0;
  if (!well_formed || !cursor.at_end()) {
    problems.push_back(
        {"python_version", "must look like 3.11 or 3.11.4, is " + in_quotes(version)});
  } else if (major < 3 || (major == 3 && minor < oldest_minor_version)) {
    problems.push_back({"python_version", "must be at least 3.8, is " + in_quotes(version)});
  }
}

void check_preload(Problems& problems, const std::vector<std::string>& modules) {
  for (std::size_t index = 0; index < modules.size(); ++index) {
    if (!is_module_name(modules[index]))
      problems.push_back({element_of("preload", index),
                          "must be a module's name like os.path, is " + in_quotes(modules[index])});
  }
  check_no_duplicates(problems, "preload", modules);
}

// A mount inside of another would be made by way of what that one holds: files of a script, links.
void check_nesting(Problems& problems,
                   const std::unordered_map<std::string, std::size_t>& targets) {
  for (const auto& [inner, index] : targets)
    for (std::size_t slash = inner.rfind('/'); slash != std::string::npos && slash > 0;
         slash = inner.rfind('/', slash - 1)) {
      const auto outer = targets.find(inner.substr(0, slash));
      if (outer == targets.end()) continue;
      problems.push_back({element_of("resources", index) + ".container_path",
                          "is " + in_quotes(inner) + ", inside of " + in_quotes(outer->first) +
                              " of resources[" + std::to_string(outer->second) +
                              "]; mount the two beside each other"});
      break;
    }
}

void check_resources(Problems& problems, const std::vector<FileResource>& resources) {
  std::unordered_map<std::string, std::size_t> targets;
  for (std::size_t index = 0; index < resources.size(); ++index) {
    const std::string field = element_of("resources", index);
    append_under(problems, field, problems_of(resources[index]));
    const std::string target = canonical_path(resources[index].container_path);
    const auto [first, is_new] = targets.emplace(target, index);
    if (!is_new && !target.empty())
      problems.push_back(
          {field + ".container_path", "is " + in_quotes(target) + ", which resources[" +
                                          std::to_string(first->second) + "] mounts already"});
  }
  check_nesting(problems, targets);
}

}  // namespace

Problems problems_of(const SandboxConfig& config) {
  Problems problems;
  check_blueprint_name(problems, "name", config.name);
  check_python_version(problems, config.python_version);
  check_requirements(problems, "dependencies", config.dependencies);
  check_preload(problems, config.preload);
  if (find_language(config.language) == nullptr)
    problems.push_back(
        {"language", "must be one of " + language_names() + ", is " + in_quotes(config.language)});
  check_resources(problems, config.resources);
  append_under(problems, "network_policy", problems_of(config.network_policy));
  append_under(problems, "resource_limits", problems_of(config.resource_limits));
  check_secret_names(problems, "secrets", config.secrets);
  check_range(problems, "pool_size", config.pool_size, 0, most_pooled);
  check_range(problems, "scratch_size_mb", config.scratch_size_mb, 1, most_scratch_mb);
  return problems;
}

SandboxConfig validated(SandboxConfig config) {
  if (Problems problems = problems_of(config); !problems.empty())
    throw ConfigError("blueprint " + in_quotes(config.name), std::move(problems));
  for (FileResource& resource : config.resources) resource = validated(std::move(resource));
  config.network_policy = validated(config.network_policy);
  return config;
}

bool is_isolated(const SandboxConfig& config) { return is_isolated(config.network_policy); }

SandboxConfig with_tool_dependencies(const SandboxConfig& config,
                                     const std::vector<std::string>& packages) {
  SandboxConfig extended = config;
  std::vector<std::string> present = canonical_requirements(config.dependencies);
  for (const std::string& package : packages) {
    std::string canonical = canonical_text(parse_requirement(package));
    if (std::find(present.begin(), present.end(), canonical) != present.end()) continue;
    present.push_back(std::move(canonical));
    extended.dependencies.push_back(package);
  }
  return extended;
}

}  // namespace hearth::blueprint
