// native/machine_facts.h: what this machine offers for sandboxes, looked up without changing
// anything, and what follows from it.
#pragma once

#include "backend/backend.h"
#include "native/cgroup_mounts.h"
#include "native/user_plan.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct MachineFacts {
  UserFacts users{};
  std::size_t groups = 0;  // supplementary
  bool in_container = false;
  std::string kernel{};                      // 6.1.0-18-amd64
  std::map<std::string, bool> namespaces{};  // by their names in /proc/self/ns
  long max_user_namespaces = 0;
  std::optional<int> unprivileged_userns_clone{};  // a switch of Debian's kernels
  std::optional<int> apparmor_restricts_userns{};  // one of Ubuntu's
  std::string user_namespace_problem{};            // why none can be made; empty: it can
  CgroupMounts cgroups{};
  std::string cgroup_problem{};      // why none can be made; empty: it can
  std::string disk_limit_problem{};  // why disk reads cannot be limited; empty: they can
  bool limits_sockets = true;        // cgroups can limit the buffers of TCP and UDP
  bool has_swap = false;
  bool limits_swap = true;      // cgroups can
  std::uint64_t tcp_bytes = 0;  // of all on this machine together, by net.ipv4.tcp_mem
  std::uint64_t udp_bytes = 0;  // the same by net.ipv4.udp_mem
  int landlock_version = 0;     // 0: none
  bool seccomp_filters = false;
};
// Makes and removes one empty cgroup and one user namespace: whether that works cannot be seen
// otherwise.
MachineFacts gather_machine_facts();

// Of a release like 6.1.0-18-amd64.
bool is_older(const std::string& kernel, int major, int minor);

using backend::Finding;
std::vector<Finding> findings_of(const MachineFacts& facts);

// The flags of `docker run` that give a container a cgroup of its own to write.
std::string container_cgroup_flags(CgroupMounts::Version version);

}  // namespace hearth::native
