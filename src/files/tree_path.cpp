#include "files/tree_path.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hearth::files {

bool leads_out(const std::string& path, const std::string& target) {
  if (target.starts_with('/')) return true;
  auto depth = std::count(path.begin(), path.end(), '/');
  bool went_down = false;
  for (std::string_view rest = target; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      went_down = true;
    } else if (went_down || depth == 0) {
      return true;  // what was gone down into may be a link itself
    } else {
      --depth;
    }
  }
  return false;
}

}  // namespace hearth::files
