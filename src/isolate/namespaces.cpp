#include "isolate/namespaces.h"

#include "isolate/failure.h"

#include <sched.h>
#include <unistd.h>

namespace hearth::isolate {

bool enter_namespaces() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) != 0)
    return fail("create namespaces");
  constexpr char name[] = "sandbox";
  return ::sethostname(name, sizeof name - 1) == 0 || fail("set the host name");
}

bool join_namespaces(const HearthSandboxSpec& spec) {
  return ::setns(spec.joined,
                 CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) == 0 ||
         fail("join the sandbox's namespaces");
}

}  // namespace hearth::isolate
