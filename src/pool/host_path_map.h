// pool/host_path_map.h: paths as the machine of the engine sees them, for a controller that runs in
// a container and sees them elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::pool {

class HostPathMap {
 public:
  // From a prefix as this process sees it to the same place as the engine's machine sees it.
  // ConfigError if one is not absolute.
  explicit HostPathMap(const std::map<std::string, std::string>& prefixes = {});

  // The longest prefix that holds `path` wins; nothing if none does.
  std::optional<std::string> resolve(std::string_view path) const;

 private:
  std::vector<std::pair<std::string, std::string>> prefixes_;  // longest first
};

}  // namespace hearth::pool
