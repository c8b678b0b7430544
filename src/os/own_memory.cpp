#include "os/own_memory.h"

#include "base/error.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>

namespace hearth::os {

void forbid_cores() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) throw OsError("read the limit of core dumps");
  // Where core_pattern is a program, the kernel starts it with a limit of 0, but not with 1.
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, 1);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_CORE, &limit) != 0) throw OsError("forbid core dumps");
}

void hide_own_memory() {
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) throw OsError("become unreadable");
  forbid_cores();
}

}  // namespace hearth::os
