#include "native/machine_facts.h"

#include "base/error.h"
#include "native/cgroup_files.h"
#include "native/group_access.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace hearth::native {
namespace {

using State = Finding::State;
using Version = CgroupMounts::Version;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<int> number_at(const std::string& path) {
  std::ifstream file(path);
  int value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// The last of three numbers: from there on the kernel gives no more.
std::uint64_t most_pages(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t low = 0;
  std::uint64_t pressure = 0;
  std::uint64_t most = 0;
  return file >> low >> pressure >> most ? most : 0;
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::string try_cgroups(const CgroupMounts& mounts) try {
  const CgroupTree tree(mounts);
  return {};
} catch (const Error& error) {
  return error.what();
}

// Landlock that can rename, and mount_setattr.
constexpr std::array<int, 2> oldest_kernel = {5, 19};

bool is_old(const std::string& kernel) {
  std::array<int, 2> version{};
  std::sscanf(kernel.c_str(), "%d.%d", version.data(), &version[1]);
  return version < oldest_kernel;
}

Finding kernel_finding(const MachineFacts& facts) {
  Finding finding{.what = "kernel", .found = facts.kernel};
  if (is_old(facts.kernel)) {
    finding.state = State::weak;
    finding.consequence = "parts of the isolation may be missing";
    finding.remedy = "use Linux 5.19 or newer";
  }
  return finding;
}

Finding user_namespace_finding(const MachineFacts& facts) {
  Finding finding{.what = "user namespaces", .found = "allowed"};
  const auto refuse = [&](std::string found, std::string remedy) {
    finding = {.what = finding.what,
               .found = std::move(found),
               .state = State::missing,
               .consequence = "no sandbox can be made",
               .remedy = std::move(remedy)};
  };
  if (!facts.namespaces.contains("user") || !facts.namespaces.at("user")) {
    refuse("not in this kernel", "use a kernel with CONFIG_USER_NS");
  } else if (facts.max_user_namespaces == 0) {
    refuse("none allowed", "sysctl -w user.max_user_namespaces=65536");
  } else if (!facts.is_root && facts.unprivileged_userns_clone == 0) {
    refuse("only for root", "sysctl -w kernel.unprivileged_userns_clone=1");
  } else if (!facts.is_root && facts.apparmor_restricts_userns.value_or(0) != 0) {
    refuse("without rights, by AppArmor",
           "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile "
           "that allows hearth-launcher `userns`");
  }
  return finding;
}

Finding namespace_finding(const std::string& name, bool exists) {
  Finding finding{.what = name + " namespace", .found = exists ? "there" : "not in this kernel"};
  if (!exists) {
    finding.state = State::missing;
    finding.consequence = "no sandbox can be made";
    finding.remedy = "use a kernel with namespaces";
  }
  return finding;
}

std::string cgroup_words(const CgroupMounts& cgroups) {
  if (cgroups.version == Version::none) return "not mounted";
  if (cgroups.version == Version::v2) return "version 2";
  return cgroups.unified.empty() ? "version 1" : "version 1, with an empty tree of version 2";
}

std::string cgroup_remedy(const MachineFacts& facts) {
  if (facts.cgroups.version == Version::none) return "mount -t cgroup2 none /sys/fs/cgroup";
  if (facts.cgroups.version == Version::v1)
    return facts.is_root ? "mount the controllers memory, pids and cpu"
                         : "run as root, or have root give you groups in the trees of memory, pids "
                           "and cpu, and start from within them";
  return facts.is_root ? "systemd-run --scope -p Delegate=yes hearth ..."
                       : "systemd-run --user --scope -p Delegate=yes hearth ...";
}

Finding cgroup_finding(const MachineFacts& facts) {
  Finding finding{.what = "cgroups", .found = cgroup_words(facts.cgroups)};
  if (!facts.cgroup_problem.empty()) {
    finding.state = State::missing;
    finding.consequence = "memory, processes and CPU have no limits (" + facts.cgroup_problem + ")";
    finding.remedy = cgroup_remedy(facts);
  }
  return finding;
}

std::string in_megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

// A connection is counted from when a script accepts it, on every kernel.
Finding socket_finding(const MachineFacts& facts) {
  Finding finding{.what = "socket buffers",
                  .found =
                      "limited; of TCP connections nobody accepts, all sandboxes together can "
                      "fill " +
                      in_megabytes(facts.tcp_bytes) + " (sysctl net.ipv4.tcp_mem)"};
  if (!facts.limits_sockets) {
    finding.found = "not limited";
    finding.state = State::weak;
    finding.consequence = "what scripts send to themselves and do not read takes up to " +
                          in_megabytes(facts.tcp_bytes) + " (TCP) and " +
                          in_megabytes(facts.udp_bytes) + " (UDP) beside their memory limits";
    finding.remedy = "use cgroups of version 2";
  }
  return finding;
}

Finding landlock_finding(const MachineFacts& facts) {
  Finding finding{.what = "Landlock",
                  .found = facts.landlock_version > 0
                               ? "version " + std::to_string(facts.landlock_version)
                               : "none"};
  if (facts.landlock_version < 2) {
    finding.state = State::missing;
    finding.consequence = "one of two walls around the file system is missing";
    finding.remedy = "use Linux 5.19 or newer, with landlock in the kernel parameter lsm=";
  }
  return finding;
}

Finding seccomp_finding(const MachineFacts& facts) {
  Finding finding{.what = "seccomp", .found = facts.seccomp_filters ? "filters" : "none"};
  if (!facts.seccomp_filters) {
    finding.state = State::missing;
    finding.consequence = "no sandbox can be made";
    finding.remedy = "use a kernel with CONFIG_SECCOMP_FILTER";
  }
  return finding;
}

Finding identity_finding(const MachineFacts& facts) {
  if (facts.is_root) return {.what = "users", .found = "root: each sandbox has a user of its own"};
  std::string consequence = "sandboxes are kept apart by namespaces alone";
  if (facts.groups > 0)
    consequence += ", and have your " + std::to_string(facts.groups) +
                   " supplementary groups, which matter where a mount shows files of them";
  return {.what = "users",
          .found = "ordinary user: all sandboxes are you",
          .state = State::weak,
          .consequence = std::move(consequence),
          .remedy = "run as root, if you want each to be a user of its own"};
}

}  // namespace

MachineFacts gather_machine_facts() {
  MachineFacts facts;
  facts.is_root = ::geteuid() == 0;
  facts.groups = own_credentials().groups.size();
  utsname names{};
  if (::uname(&names) == 0) facts.kernel = names.release;
  for (const std::string name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"})
    facts.namespaces[name] = ::access(("/proc/self/ns/" + name).c_str(), F_OK) == 0;
  facts.max_user_namespaces = number_at("/proc/sys/user/max_user_namespaces").value_or(0);
  facts.unprivileged_userns_clone = number_at("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_restricts_userns =
      number_at("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.cgroups = find_cgroup_mounts(text_of("/proc/self/mountinfo"), text_of("/proc/self/cgroup"));
  facts.cgroup_problem = try_cgroups(facts.cgroups);
  facts.limits_sockets = facts.cgroups.version == Version::v2 ||
                         (facts.cgroups.version == Version::v1 &&
                          ::access((facts.cgroups.memory / socket_limit_file).c_str(), F_OK) == 0);
  facts.tcp_bytes = most_pages("/proc/sys/net/ipv4/tcp_mem") * page_bytes();
  facts.udp_bytes = most_pages("/proc/sys/net/ipv4/udp_mem") * page_bytes();
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  facts.landlock_version = static_cast<int>(std::max(version, 0L));
  facts.seccomp_filters =
      text_of("/proc/sys/kernel/seccomp/actions_avail").find("errno") != std::string::npos;
  return facts;
}

std::vector<Finding> findings_of(const MachineFacts& facts) {
  std::vector<Finding> findings = {kernel_finding(facts), user_namespace_finding(facts)};
  for (const auto& [name, exists] : facts.namespaces)
    if (name != "user") findings.push_back(namespace_finding(name, exists));
  findings.push_back(cgroup_finding(facts));
  findings.push_back(socket_finding(facts));
  findings.push_back(landlock_finding(facts));
  findings.push_back(seccomp_finding(facts));
  findings.push_back(identity_finding(facts));
  return findings;
}

}  // namespace hearth::native
