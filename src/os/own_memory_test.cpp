#include "os/own_memory.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace hearth::os {

TEST_CASE("a process that hides its memory leaves no core dump and cannot be attached to") {
  const pid_t child = ::fork();
  if (child == 0) {
    hide_own_memory();
    rlimit core{2, 2};
    ::getrlimit(RLIMIT_CORE, &core);
    const bool hidden = ::prctl(PR_GET_DUMPABLE) == 0 && core.rlim_cur <= 1 && core.rlim_max <= 1;
    // It can still look at itself.
    const int exe = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int again = ::open(("/proc/self/fd/" + std::to_string(exe)).c_str(), O_RDONLY);
    ::_exit(hidden && again >= 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace hearth::os
