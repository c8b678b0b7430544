// Who the sandbox's processes are: nobody, without rights, for good.
#include "isolate/steps.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hearth::isolate {
namespace {

// What a script sees itself as.
constexpr unsigned inside_id = 1000;

bool write_to(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool written = ::write(file, text, static_cast<std::size_t>(size)) == size;
  ::close(file);
  return written;
}

bool write_map(const char* path, unsigned outside) {
  char map[48];
  std::snprintf(map, sizeof map, "%u %u 1", inside_id, outside);
  return write_to(path, map);
}

// Not by libc's functions, which would change the user of all threads it knows: the zygote's.
bool change_user(const HearthSandboxSpec& spec) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, spec.gid, spec.gid, spec.gid) == 0 &&
         ::syscall(SYS_setresuid, spec.uid, spec.uid, spec.uid) == 0;
}

struct UserNamespace {
  const HearthSandboxSpec* spec;
  int fd;
};

// The first process of the new namespace, who names its user and leaves a descriptor of it.
int name_user(void* argument) {
  auto* made = static_cast<UserNamespace*>(argument);
  if (write_to("/proc/self/setgroups", "deny") &&
      write_map("/proc/self/uid_map", made->spec->uid) &&
      write_map("/proc/self/gid_map", made->spec->gid))
    made->fd = ::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  return 0;
}

// Whoever shares memory, as this process does with the zygote, cannot leave its user namespace for
// a new one; but it can enter one that somebody made.
int make_user_namespace(const HearthSandboxSpec& spec) {
  alignas(16) static char stack[16384];
  UserNamespace made{&spec, -1};
  const int maker = ::clone(name_user, stack + sizeof stack,
                            CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | SIGCHLD, &made);
  if (maker < 0 || ::waitpid(maker, nullptr, 0) != maker) return -1;
  return made.fd;
}

}  // namespace

// A user namespace that owns nothing: the other namespaces belong to the zygote's, so whoever gains
// rights in this one has gained them over no mount, no network and no process.
bool become_sandbox_user(const HearthSandboxSpec& spec) {
  // A change of user makes a process unreadable to itself, and the maps are files of /proc.
  if ((spec.uid != 0 && !change_user(spec)) || ::prctl(PR_SET_DUMPABLE, 1) != 0)
    return fail("become the sandbox's user");
  const int made = make_user_namespace(spec);
  const bool entered = made >= 0 && ::setns(made, CLONE_NEWUSER) == 0 && ::close(made) == 0;
  // From here on no equal can trace or read it, nor the zygote, whose memory this is; so the
  // harness is safe before it has run at all.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return fail("become unreadable");
  return entered || fail("create the sandbox's user namespace");
}

// The user owns the namespace, as the one who made it had the same number.
bool join_sandbox_user(const HearthSandboxSpec& spec) {
  const bool entered = (spec.uid == 0 || change_user(spec)) &&
                       ::setns(spec.joined, CLONE_NEWUSER) == 0 && ::close(spec.joined) == 0;
  if (!entered) return fail("become the sandbox's user");
  return ::prctl(PR_SET_DUMPABLE, 0) == 0 || fail("become unreadable");
}

bool drop_capabilities() {
  int known = 0;
  while (::prctl(PR_CAPBSET_DROP, known, 0, 0, 0) == 0) ++known;
  if (known == 0 || errno != EINVAL) return fail("empty the bounding set");
  constexpr unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0) return fail("lock the secure bits");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return fail("clear the ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return fail("drop the capabilities");
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || fail("forbid new privileges");
}

}  // namespace hearth::isolate
