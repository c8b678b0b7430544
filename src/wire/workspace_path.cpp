#include "wire/workspace_path.h"

#include "base/json_escape.h"

namespace hearth::wire {
namespace {

constexpr std::size_t max_path_bytes = 4096;

}  // namespace

std::string problem_of_workspace_path(std::string_view path) {
  if (path.empty()) return "must not be empty";
  if (path.size() > max_path_bytes)
    return "must not be longer than " + std::to_string(max_path_bytes) + " bytes";
  if (path.front() == '/') return "must be relative";
  if (path.find('\0') != std::string_view::npos) return "must not hold a NUL";
  // A line of JSON would carry it as another name.
  if (!is_utf8(path)) return "must be UTF-8";
  std::string_view rest = path;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == "..")
      return "must not have an empty component, \".\" or \"..\"";
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace hearth::wire
