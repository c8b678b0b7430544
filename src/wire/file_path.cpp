#include "wire/file_path.h"

namespace hearth::wire {
namespace {

constexpr std::size_t max_name_bytes = 255;

}  // namespace

std::string problem_of_file_path(std::string_view path) {
  if (path == "." || path == "/") return {};
  if (path.empty()) return "must not be empty";
  if (path.size() > max_path_bytes)
    return "must not be longer than " + std::to_string(max_path_bytes) + " bytes";
  if (path.find('\0') != std::string_view::npos) return "must not hold a NUL";
  std::string_view rest = path;
  if (rest.front() == '/') rest.remove_prefix(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == "..")
      return "must not have an empty component, \".\" or \"..\"";
    if (component.size() > max_name_bytes)
      return "must not have a component longer than " + std::to_string(max_name_bytes) + " bytes";
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

std::string problem_of_tree_path(std::string_view path) {
  if (path.starts_with('/')) return "must not be absolute";
  if (path == ".") return "must not be the tree itself";
  return problem_of_file_path(path);
}

}  // namespace hearth::wire
