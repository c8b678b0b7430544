#include "os/own_memory.h"

#include "base/error.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace hearth::os {

void hide_own_memory() {
  // core_pattern may be a program: a size of 0 alone does not stop that, not being dumpable does.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) throw OsError("become unreadable");
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) throw OsError("forbid core dumps");
}

}  // namespace hearth::os
