// tests/support/host_view.h: native sandboxes as the host's root sees them.
#pragma once

#include "native/native_sandbox.h"
#include "native/pidfd.h"

#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hearth::test {

inline pid_t init_of(const backend::Sandbox& sandbox) {
  return native::pid_of(dynamic_cast<const native::NativeSandbox&>(sandbox).pidfd());
}

// The rest of the line that begins with `key:` in /proc/<pid>/status.
inline std::string status_line(pid_t pid, const std::string& key) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return line.substr(key.size() + 1);
  return {};
}

inline pid_t parent_of(pid_t pid) {
  const std::string parent = status_line(pid, "PPid");
  return parent.empty() ? 0 : std::stoi(parent);
}

inline pid_t zygote_of(const backend::Sandbox& sandbox) { return parent_of(init_of(sandbox)); }

inline std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      pids.push_back(std::stoi(name));
  }
  return pids;
}

inline std::string pid_namespace_of(pid_t pid) {
  std::error_code gone;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", gone);
}

inline std::vector<pid_t> processes_of(const backend::Sandbox& sandbox) {
  const std::string own = pid_namespace_of(init_of(sandbox));
  std::vector<pid_t> pids;
  for (const pid_t pid : all_processes())
    if (pid_namespace_of(pid) == own) pids.push_back(pid);
  return pids;
}

}  // namespace hearth::test
