#include "native/cgroup_mounts.h"

#include "os/read_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

struct Mount {
  fs::path root;   // which part of the tree is shown
  fs::path point;  // where
};

struct Mounts {
  std::map<std::string, Mount> v1;  // by controller
  std::optional<Mount> v2;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Space, tab, newline and backslash are written as three octal digits behind a backslash.
std::string unescape(const std::string& word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool escaped = word[i] == '\\' && i + 3 < word.size() && is_octal(word[i + 1]) &&
                         is_octal(word[i + 2]) && is_octal(word[i + 3]);
    text += escaped ? static_cast<char>(std::stoi(word.substr(i + 1, 3), nullptr, 8)) : word[i];
    if (escaped) i += 3;
  }
  return text;
}

// "id parent dev root point options... - type source superoptions"
Mounts parse_mounts(const std::string& mountinfo) {
  Mounts mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const Mount mount{unescape(words[3]), unescape(words[4])};
    if (dash[1] == "cgroup2" && !mounts.v2) mounts.v2 = mount;
    if (dash[1] != "cgroup") continue;
    for (const std::string& controller : split(dash[3], ','))
      mounts.v1.try_emplace(controller, mount);
  }
  return mounts;
}

// "4:memory:/path" for version 1, "0::/path" for version 2, which has an empty name here.
std::map<std::string, fs::path> parse_own_groups(const std::string& text) {
  std::map<std::string, fs::path> groups;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (names.empty()) groups[""] = line.substr(second + 1);
    for (const std::string& name : split(names, ',')) groups[name] = line.substr(second + 1);
  }
  return groups;
}

// A group outside the part that is mounted (in a container without a cgroup namespace) is taken to
// be the mount's own root.
fs::path directory_of(const Mount& mount, const fs::path& group) {
  const fs::path inside = group.lexically_relative(mount.root);
  if (inside.empty() || *inside.begin() == "..") return mount.point;
  return inside == "." ? mount.point : mount.point / inside;
}

}  // namespace

CgroupMounts find_cgroup_mounts(const std::string& mountinfo, const std::string& own_groups) {
  const Mounts mounts = parse_mounts(mountinfo);
  std::map<std::string, fs::path> groups = parse_own_groups(own_groups);
  CgroupMounts found;
  if (mounts.v2) found.unified = directory_of(*mounts.v2, groups[""]);
  const auto in_v1 = [&](const std::string& controller) {
    const auto mount = mounts.v1.find(controller);
    return mount == mounts.v1.end() ? fs::path() : directory_of(mount->second, groups[controller]);
  };
  found.memory = in_v1("memory");
  found.pids = in_v1("pids");
  found.cpu = in_v1("cpu");
  found.blkio = in_v1("blkio");
  if (mounts.v1.contains("memory") || mounts.v1.contains("pids") || mounts.v1.contains("cpu")) {
    found.version = CgroupMounts::Version::v1;
    if (found.memory.empty()) found.missing.emplace_back("memory");
    if (found.pids.empty()) found.missing.emplace_back("pids");
    if (found.cpu.empty()) found.missing.emplace_back("cpu");
  } else if (mounts.v2) {
    found.version = CgroupMounts::Version::v2;
  } else {
    found.missing = {"memory", "pids", "cpu"};
  }
  return found;
}

CgroupMounts own_cgroup_mounts() {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  return find_cgroup_mounts(os::read_file("/proc/self/mountinfo", most_bytes),
                            os::read_file("/proc/self/cgroup", most_bytes));
}

std::optional<std::uint64_t> own_memory_limit_bytes(const CgroupMounts& mounts) {
  const bool is_v2 = mounts.version == CgroupMounts::Version::v2;
  const char* file = is_v2 ? "memory.max" : "memory.limit_in_bytes";
  std::optional<std::uint64_t> smallest;
  // Each group is bound by those above it.
  for (fs::path group = is_v2 ? mounts.unified : mounts.memory; fs::exists(group / "cgroup.procs");
       group = group.parent_path()) {
    std::ifstream text(group / file);
    std::uint64_t limit = 0;  // "max" is none; nor has the root a file
    if (text >> limit) smallest = std::min(limit, smallest.value_or(limit));
  }
  return smallest;
}

}  // namespace hearth::native
