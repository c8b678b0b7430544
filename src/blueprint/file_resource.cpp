#include "blueprint/file_resource.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hearth::blueprint {
namespace {

// The runtime makes these itself in every sandbox, or empties them between turns.
constexpr std::array<std::string_view, 8> runtime_trees = {
    "/proc", "/sys", "/dev", "/tmp", "/workspace", "/tools", "/packages", "/hearth"};
// Mounting over one of these takes Python away; a place inside them is fine.
constexpr std::array<std::string_view, 6> system_trees = {"/usr", "/bin",   "/sbin",
                                                          "/lib", "/lib64", "/etc"};

bool has_component(std::string_view path, std::string_view wanted) {
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == wanted) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
  return false;
}

bool is_at_or_under(std::string_view path, std::string_view tree) {
  return path.starts_with(tree) && (path.size() == tree.size() || path[tree.size()] == '/');
}

bool has_control_character(std::string_view path) {
  return std::any_of(path.begin(), path.end(),
                     [](char letter) { return static_cast<unsigned char>(letter) < 0x20; });
}

std::string problem_of_path(std::string_view path) {
  if (path.empty()) return "is missing";
  if (has_control_character(path))
    return "is " + in_quotes(path) + ", which holds a control character";
  if (path.size() > 4095) return "is longer than the 4095 bytes a path can have";
  if (path.front() != '/') return "must be absolute, is " + in_quotes(path);
  return {};
}

// An engine resolves a path on its own: with "..", a link or /proc in it, to something else.
std::string problem_of_plain_path(std::string_view path) {
  if (std::string problem = problem_of_path(path); !problem.empty()) return problem;
  if (has_component(path, "..") || has_component(path, "."))
    return "must not contain \"..\" or \".\", is " + in_quotes(path);
  return {};
}

std::string problem_of_container_path(const std::string& path) {
  if (std::string problem = problem_of_plain_path(path); !problem.empty()) return problem;
  const std::string canonical = canonical_path(path);
  if (canonical == "/") return "is " + in_quotes(path) + ", which would hide the whole sandbox";
  for (const std::string_view tree : runtime_trees) {
    if (is_at_or_under(canonical, tree))
      return "is " + in_quotes(path) + ", but " + std::string(tree) +
             " belongs to the runtime; use a place like /data";
  }
  if (std::find(system_trees.begin(), system_trees.end(), canonical) != system_trees.end())
    return "is " + in_quotes(path) + ", which would hide the system; use a place like /data";
  return {};
}

}  // namespace

std::string canonical_path(std::string_view path) {
  std::string canonical;
  for (const char letter : path) {
    if (letter == '/' && canonical.ends_with('/')) continue;
    canonical += letter;
  }
  if (canonical.size() > 1 && canonical.ends_with('/')) canonical.pop_back();
  return canonical;
}

Problems problems_of(const FileResource& resource) {
  Problems problems;
  const auto note = [&](std::string field, std::string message) {
    if (!message.empty()) problems.push_back({std::move(field), std::move(message)});
  };
  note("host_path", problem_of_plain_path(resource.host_path));
  note("container_path", problem_of_container_path(resource.container_path));
  if (resource.docker_host_path)
    note("docker_host_path", problem_of_plain_path(*resource.docker_host_path));
  return problems;
}

FileResource validated(FileResource resource) {
  if (Problems problems = problems_of(resource); !problems.empty())
    throw ConfigError("file resource", std::move(problems));
  resource.host_path = canonical_path(resource.host_path);
  resource.container_path = canonical_path(resource.container_path);
  if (resource.docker_host_path)
    resource.docker_host_path = canonical_path(*resource.docker_host_path);
  return resource;
}

Mount mount_of(const FileResource& resource, const std::optional<std::string>& resolved_host_path) {
  const std::string& source = resolved_host_path          ? *resolved_host_path
                              : resource.docker_host_path ? *resource.docker_host_path
                                                          : resource.host_path;
  const bool is_engines = resolved_host_path || resource.docker_host_path;
  return {source, canonical_path(resource.container_path), resource.read_only, is_engines};
}

}  // namespace hearth::blueprint
