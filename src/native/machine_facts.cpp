#include "native/machine_facts.h"

#include "base/error.h"
#include "native/cgroup_files.h"
#include "native/cgroup_tree.h"
#include "native/group_access.h"
#include "os/in_container.h"

#include <linux/landlock.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
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

// Below a line of headings.
bool has_swap() {
  const std::string swaps = text_of("/proc/swaps");
  return std::count(swaps.begin(), swaps.end(), '\n') > 1;
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

void try_cgroups(MachineFacts& facts) try {
  const CgroupTree tree(facts.cgroups);
  facts.disk_limit_problem = tree.disk_limit_problem();
  facts.limits_swap = tree.limits_swap();
} catch (const Error& error) {
  facts.cgroup_problem = error.what();
  facts.disk_limit_problem = "there are no cgroups";
}

// In a child, since there is no way back.
std::string try_user_namespace() {
  const pid_t child = ::fork();
  if (child < 0) throw OsError("fork");
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw OsError("wait for a child");
  return status == 0 ? std::string() : std::strerror(WEXITSTATUS(status));
}

Finding kernel_finding(const MachineFacts& facts) {
  Finding finding{.what = "kernel", .found = facts.kernel};
  // Landlock that can rename, and mount_setattr.
  if (is_older(facts.kernel, 5, 19)) {
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
  } else if (!facts.users.may_mount && facts.unprivileged_userns_clone == 0) {
    refuse("only for root", "sysctl -w kernel.unprivileged_userns_clone=1");
  } else if (!facts.users.may_mount && facts.apparmor_restricts_userns.value_or(0) != 0) {
    refuse("without rights, by AppArmor",
           "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile "
           "that allows hearth-launcher `userns`");
  } else if (!facts.user_namespace_problem.empty()) {
    refuse("refused (" + facts.user_namespace_problem + ")",
           facts.in_container
               ? "docker run --security-opt seccomp=unconfined, or the profile of "
                 "docs/containers.md; with AppArmor --security-opt apparmor=unconfined, too"
               : "look for a seccomp filter or a security module that forbids unshare");
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

// Commands to copy, a line each.
std::string cgroup_remedy(const MachineFacts& facts) {
  const CgroupMounts& cgroups = facts.cgroups;
  const bool is_root = facts.users.uid == 0;
  if (facts.in_container) return container_cgroup_flags(cgroups.version);
  if (cgroups.version == Version::none) return "mount -t cgroup2 none /sys/fs/cgroup";
  if (cgroups.version == Version::v2)
    return is_root ? "systemd-run --scope -p Delegate=yes hearth ..."
                   : "systemd-run --user --scope -p Delegate=yes hearth ...";
  if (is_root) return "mount the controllers memory, pids and cpu";
  std::string groups;
  for (const std::filesystem::path& tree : {cgroups.memory, cgroups.pids, cgroups.cpu})
    groups += ' ' + (tree / "hearth").string();
  return "as root, once:\n  mkdir" + groups + "\n  chown -R " + std::to_string(facts.users.uid) +
         groups + "\nthen, in the shell that starts hearth:\n  for group in" + groups +
         "; do echo $$ > $group/cgroup.procs; done";
}

Finding cgroup_finding(const MachineFacts& facts) {
  Finding finding{.what = "cgroups", .found = cgroup_words(facts.cgroups)};
  if (!facts.cgroup_problem.empty()) {
    finding.state = State::weak;
    finding.found += ", but not for this process";
    finding.consequence = "limits are degraded: of memory by process, of CPU none (" +
                          facts.cgroup_problem + "); a server does not start";
    finding.remedy = cgroup_remedy(facts);
  }
  return finding;
}

std::string in_megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

// A connection is counted from when a script accepts it, on every kernel.
Finding socket_finding(const MachineFacts& facts) {
  Finding finding{.what = "socket buffers",
                  .found =
                      "limited; of unaccepted TCP connections, all sandboxes together can "
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

Finding swap_finding(const MachineFacts& facts) {
  Finding finding{.what = "swap", .found = facts.has_swap ? "limited" : "none"};
  if (facts.has_swap && !facts.limits_swap) {
    finding.found = "not limited";
    finding.state = State::weak;
    finding.consequence =
        "what sandboxes have in memory, /workspace too, may be written to the swap disk";
    finding.remedy = "boot with the kernel parameter swapaccount=1, or swapoff -a";
  }
  return finding;
}

Finding disk_finding(const MachineFacts& facts) {
  Finding finding{.what = "disk reads", .found = "can be limited"};
  if (!facts.disk_limit_problem.empty()) {
    finding.found = "cannot be limited (" + facts.disk_limit_problem + ")";
    finding.state = State::weak;
    finding.consequence = "blueprints with resource_limits.disk_read_mb_per_sec are refused";
    finding.remedy = facts.cgroups.version == Version::v1
                         ? "give Hearth a group in the tree of the cgroup controller blkio"
                         : "give Hearth's cgroup the controller io, by Delegate=yes or by "
                           "cgroup.subtree_control of the groups above it";
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
  const UserPlan plan = plan_users(facts.users);
  Finding finding{.what = "users", .state = State::weak};
  finding.consequence = "sandboxes are kept apart by namespaces alone";
  switch (plan.kind) {
    case UserPlan::Kind::range:
      return {.what = finding.what,
              .found = std::string("each sandbox has a user of its own, ") +
                       (facts.users.may_mount ? "with CAP_SYS_ADMIN"
                                              : "by a user namespace, without CAP_SYS_ADMIN")};
    case UserPlan::Kind::one:
      finding.found = "all sandboxes are user " + std::to_string(plan.ranges.front().first);
      finding.remedy = "give this user namespace 65536 users, if you want each to have its own";
      break;
    case UserPlan::Kind::caller:
      if (facts.groups > 0)
        finding.consequence += ", and have your " + std::to_string(facts.groups) +
                               " supplementary groups, which matter where a mount shows files of "
                               "them";
      finding.found = facts.users.uid == 0 ? "root of a user namespace: all sandboxes are you"
                                           : "ordinary user: all sandboxes are you";
      finding.remedy = facts.users.uid == 0
                           ? "give this user namespace 65536 users (/etc/subuid), if you want each "
                             "sandbox to have its own"
                           : "run as root, if you want each to be a user of its own";
      break;
    case UserPlan::Kind::refused:
      finding.state = State::missing;
      finding.found = "none for sandboxes";
      finding.consequence = "no sandbox can be made";
      finding.remedy = plan.reason;
      break;
  }
  return finding;
}

}  // namespace

bool is_older(const std::string& kernel, int major, int minor) {
  std::array<int, 2> version{};
  std::sscanf(kernel.c_str(), "%d.%d", version.data(), &version[1]);
  return version < std::array<int, 2>{major, minor};
}

std::string container_cgroup_flags(Version version) {
  if (version == Version::v1)
    return "docker run -v /sys/fs/cgroup/memory/hearth:/sys/fs/cgroup/memory, and the same for "
           "pids "
           "and cpu, with groups that you have made on the host (docs/containers.md)";
  return "docker run --cgroupns host -v /sys/fs/cgroup/hearth:/sys/fs/cgroup, with a group that "
         "you "
         "have made on the host (docs/containers.md)";
}

MachineFacts gather_machine_facts() {
  MachineFacts facts;
  facts.in_container = os::runs_in_container();
  facts.user_namespace_problem = try_user_namespace();
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
  try_cgroups(facts);
  facts.limits_sockets = facts.cgroups.version == Version::v2 ||
                         (facts.cgroups.version == Version::v1 &&
                          ::access((facts.cgroups.memory / socket_limit_file).c_str(), F_OK) == 0);
  facts.has_swap = has_swap();
  facts.tcp_bytes = most_pages("/proc/sys/net/ipv4/tcp_mem") * page_bytes();
  facts.udp_bytes = most_pages("/proc/sys/net/ipv4/udp_mem") * page_bytes();
  facts.users = gather_user_facts(
      facts.cgroup_problem.empty() ? std::optional(facts.cgroups.version) : std::nullopt);
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
  findings.push_back(swap_finding(facts));
  findings.push_back(disk_finding(facts));
  findings.push_back(landlock_finding(facts));
  findings.push_back(seccomp_finding(facts));
  findings.push_back(identity_finding(facts));
  return findings;
}

}  // namespace hearth::native
