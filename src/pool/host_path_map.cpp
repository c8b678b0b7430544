#include "pool/host_path_map.h"

#include "blueprint/problem.h"

#include <algorithm>

namespace hearth::pool {
namespace {

std::string without_final_slashes(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

HostPathMap::HostPathMap(const std::map<std::string, std::string>& prefixes) {
  blueprint::Problems problems;
  for (const auto& [from, to] : prefixes) {
    for (const std::string& path : {from, to})
      if (!path.starts_with('/'))
        problems.push_back(
            {"host_path_map", "must have absolute paths, has " + blueprint::in_quotes(path)});
    prefixes_.emplace_back(without_final_slashes(from), without_final_slashes(to));
  }
  if (!problems.empty()) throw blueprint::ConfigError("the pool", std::move(problems));
  std::sort(prefixes_.begin(), prefixes_.end(), [](const auto& one, const auto& other) {
    return one.first.size() > other.first.size();
  });
}

std::optional<std::string> HostPathMap::resolve(std::string_view path) const {
  for (const auto& [from, to] : prefixes_) {
    if (!path.starts_with(from)) continue;
    const std::string_view rest = path.substr(from.size());
    if (!rest.empty() && !rest.starts_with('/')) continue;  // `/data` does not hold `/database`
    std::string resolved = to + std::string(rest);
    return resolved.empty() ? "/" : resolved;
  }
  return std::nullopt;
}

}  // namespace hearth::pool
