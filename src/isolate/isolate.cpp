#include "isolate/isolate.h"

#include "isolate/steps.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::isolate {
namespace {

const char* failed_step = "";

}  // namespace

bool fail(const char* step) {
  failed_step = step;
  return false;
}

}  // namespace hearth::isolate

using namespace hearth::isolate;

HEARTH_EXPORT const char* hearth_failed_step() { return failed_step; }

HEARTH_EXPORT int hearth_new_pid_namespace(int own) {
  if (::setns(own, CLONE_NEWPID) == 0 && ::unshare(CLONE_NEWPID) == 0) return 0;
  fail("create a pid namespace");
  return -1;
}

// The limits come first: from then on, whatever happens is paid for by the sandbox.
HEARTH_EXPORT int hearth_isolate(const HearthSandboxSpec* spec) {
  ::umask(022);
  ::setsid();
  const bool done = join_cgroups(*spec) && enter_namespaces() && mount_scratch(*spec) &&
                    mount_proc() && raise_loopback() && set_limits();
  return done ? 0 : -1;
}

HEARTH_EXPORT int hearth_lock_down(const HearthSandboxSpec* spec) {
  const bool done = become_sandbox_user(*spec) && drop_capabilities() && restrict_files(*spec) &&
                    restrict_system_calls(*spec);
  return done ? 0 : -1;
}
