#include "isolate/user.h"

#include "isolate/failure.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace hearth::isolate {
namespace {

// The user that a script sees.
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

// Not by libc's functions: they would change the user of all threads they know, the zygote's.
bool change_user(const HearthSandboxSpec& spec) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, spec.gid, spec.gid, spec.gid) == 0 &&
         ::syscall(SYS_setresuid, spec.uid, spec.uid, spec.uid) == 0;
}

struct UserNamespace {
  const HearthSandboxSpec* spec;
  int fd;
};

// Runs in the first process of the new namespace. Maps its user and opens a descriptor of it.
int map_user(void* argument) {
  auto* made = static_cast<UserNamespace*>(argument);
  if (write_to("/proc/self/setgroups", "deny") &&
      write_map("/proc/self/uid_map", made->spec->uid) &&
      write_map("/proc/self/gid_map", made->spec->gid))
    made->fd = ::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  return 0;
}

// A process that shares memory, as this one does with the zygote, cannot unshare its user
// namespace. But it can enter one that another process has created.
int make_user_namespace(const HearthSandboxSpec& spec) {
  alignas(16) static char stack[16384];
  UserNamespace made{&spec, -1};
  const int maker = ::clone(map_user, stack + sizeof stack,
                            CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | SIGCHLD, &made);
  if (maker < 0 || ::waitpid(maker, nullptr, 0) != maker) return -1;
  return made.fd;
}

}  // namespace

// The user namespace owns nothing: the other namespaces belong to the zygote's. So capabilities in
// it give no right over any mount, network or process.
bool become_sandbox_user(const HearthSandboxSpec& spec) {
  // A change of user makes a process undumpable, and then it cannot write its maps in /proc.
  if ((spec.uid != 0 && !change_user(spec)) || ::prctl(PR_SET_DUMPABLE, 1) != 0)
    return fail("become the sandbox's user");
  const int made = make_user_namespace(spec);
  const bool entered = made >= 0 && ::setns(made, CLONE_NEWUSER) == 0 && ::close(made) == 0;
  // From here on no process of the same user can trace it or read its memory, which is the
  // zygote's. So the harness is safe before its first instruction.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return fail("forbid tracing");
  return entered || fail("create the sandbox's user namespace");
}

// The user owns the namespace, because the process that created it had the same uid.
bool join_sandbox_user(const HearthSandboxSpec& spec) {
  const bool entered = (spec.uid == 0 || change_user(spec)) &&
                       ::setns(spec.joined, CLONE_NEWUSER) == 0 && ::close(spec.joined) == 0;
  if (!entered) return fail("become the sandbox's user");
  return ::prctl(PR_SET_DUMPABLE, 0) == 0 || fail("forbid tracing");
}

}  // namespace hearth::isolate
