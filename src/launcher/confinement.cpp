#include "launcher/confinement.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hearth::launcher {
namespace {

constexpr std::array zygote_capabilities = {
    CAP_KILL,        // to kill a sandbox that cannot be handed over
    CAP_SETGID,      // to become the sandbox's user
    CAP_SETUID,      //
    CAP_SETPCAP,     // to empty its bounding set
    CAP_NET_ADMIN,   // to raise its loopback interface
    CAP_SYS_ADMIN,   // to create its namespaces and mounts
    CAP_SYS_CHROOT,  // to enter its mounts by setns,
    CAP_SYS_PTRACE,  // with a pidfd
    CAP_SETFCAP,     // to map this namespace's root, if it has no other user
};

constexpr std::uint64_t megabyte = 1 << 20;
constexpr rlim_t most_open_files = 4096;

void check(long result, const char* step) {
  if (result != 0) throw OsError(step);
}

void write_to(const char* path, const std::string& text) {
  const os::UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw OsError(std::string("write ") + path);
}

// Never raises a limit.
void limit(__rlimit_resource_t resource, rlim_t most) {
  rlimit value{};
  check(::getrlimit(resource, &value), "read a resource limit");
  value.rlim_max = std::min(value.rlim_max, most);
  value.rlim_cur = value.rlim_max;
  check(::setrlimit(resource, &value), "set a resource limit");
}

void set_limits(const Confinement& confinement) {
  limit(RLIMIT_NOFILE, most_open_files);
  limit(RLIMIT_MEMLOCK, 64 << 10);
  limit(RLIMIT_SIGPENDING, 1024);
  limit(RLIMIT_MSGQUEUE, 0);  // POSIX queues outlive processes
  limit(RLIMIT_RTPRIO, 0);
  limit(RLIMIT_NICE, 0);
  if (confinement.memory_mb != 0) limit(RLIMIT_AS, confinement.memory_mb * megabyte);
  if (confinement.processes != 0) limit(RLIMIT_NPROC, confinement.processes);
  if (confinement.file_mb != 0) limit(RLIMIT_FSIZE, confinement.file_mb * megabyte);
  // When the machine runs out of memory, this is killed among the first.
  write_to("/proc/self/oom_score_adj", "500");
}

void become_user_alone(std::uint32_t user) {
  check(::unshare(CLONE_NEWUSER), "create the command's user namespace");
  const std::string map = std::to_string(user) + " 0 1";
  write_to("/proc/self/uid_map", map);
  write_to("/proc/self/gid_map", map);
}

void become_user(std::uint32_t user) {
  check(::setgroups(0, nullptr), "leave all groups");
  check(::setresgid(user, user, user), "become the command's group");
  check(::setresuid(user, user, user), "become the command's user");
}

// Before the user changes: afterwards none of this is permitted.
void empty_bounding_set() {
  int known = 0;
  while (::prctl(PR_CAPBSET_DROP, known, 0, 0, 0) == 0) ++known;
  if (known == 0 || errno != EINVAL) throw OsError("empty the bounding set");
  constexpr unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  check(::prctl(PR_SET_SECUREBITS, bits, 0, 0, 0), "lock the secure bits");
  check(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
        "clear the ambient capabilities");
}

void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  check(::syscall(SYS_capset, &header, none.data()), "drop the capabilities");
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
}

}  // namespace

void join_cgroups(const std::vector<int>& fds) {
  for (const int fd : fds)
    if (::write(fd, "0", 1) != 1) throw OsError("join the cgroup");
}

std::string read_filter(int fd) {
  const os::UniqueFd file(fd);
  std::string filter;
  std::array<char, 4096> buffer{};
  while (file) {
    // Not read: other processes may share the file's position.
    const ssize_t size =
        ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(filter.size()));
    if (size < 0) throw OsError("read the seccomp filter");
    if (size == 0) break;
    filter.append(buffer.data(), static_cast<std::size_t>(size));
  }
  if (file && (filter.empty() || filter.size() % sizeof(sock_filter) != 0))
    throw Error("the seccomp filter is not whole");
  return filter;
}

void keep_zygote_capabilities() {
  for (int capability = 0;; ++capability) {
    const auto kept = std::find(zygote_capabilities.begin(), zygote_capabilities.end(), capability);
    if (kept != zygote_capabilities.end()) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    // The kernel has no more capabilities.
    if (errno == EINVAL && capability > CAP_SYS_ADMIN) return;
    throw OsError("reduce the bounding set");
  }
}

void give_up_rights(const Confinement& confinement, bool is_alone) {
  // A process that has changed its user cannot write its own files in /proc. No other process that
  // could trace it exists yet.
  check(::prctl(PR_SET_DUMPABLE, 1), "become dumpable");
  set_limits(confinement);
  if (is_alone) become_user_alone(confinement.user);
  empty_bounding_set();
  if (!is_alone) become_user(confinement.user);
  drop_capabilities();
}

void install_filter(const std::string& filter) {
  if (filter.empty()) return;
  std::vector<sock_filter> instructions(filter.size() / sizeof(sock_filter));
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
  std::copy(filter.begin(), filter.end(), reinterpret_cast<char*>(instructions.data()));
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  check(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "install the seccomp filter");
}

}  // namespace hearth::launcher
