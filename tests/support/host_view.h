// tests/support/host_view.h: native sandboxes as the host's root sees them.
#pragma once

#include "native/native_sandbox.h"
#include "native/pidfd.h"

#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

// False for a zombie too: it has ended, and only its parent has not yet been told.
inline bool is_alive(pid_t pid) {
  const std::string state = status_line(pid, "State");
  const std::size_t letter = state.find_first_not_of(" \t");
  return letter != std::string::npos && state[letter] != 'Z' && state[letter] != 'X';
}

// The first processes of the live sandboxes that processes in the pid namespace `zygotes` have
// made, by their own pid namespaces.
inline std::map<std::string, pid_t> live_sandboxes_below(const std::string& zygotes) {
  std::vector<pid_t> seen;
  for (const pid_t pid : all_processes())
    if (pid_namespace_of(parent_of(pid)) == zygotes) seen.push_back(pid);
  // Looking at all processes takes a while, in which one sandbox may end and another start. Those
  // that are still alive when all have been seen were alive together.
  std::map<std::string, pid_t> sandboxes;
  for (const pid_t pid : seen) {
    const std::string own = pid_namespace_of(pid);
    if (is_alive(pid)) sandboxes.emplace(own, pid);
  }
  sandboxes.erase(zygotes);
  sandboxes.erase("");
  return sandboxes;
}

inline std::vector<pid_t> processes_of(const backend::Sandbox& sandbox) {
  const std::string own = pid_namespace_of(init_of(sandbox));
  std::vector<pid_t> pids;
  for (const pid_t pid : all_processes())
    if (pid_namespace_of(pid) == own) pids.push_back(pid);
  return pids;
}

}  // namespace hearth::test
