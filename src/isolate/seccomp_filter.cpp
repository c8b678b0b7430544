#include "isolate/seccomp_filter.h"

#include "isolate/failure.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::isolate {

bool restrict_system_calls(const HearthSandboxSpec& spec) {
  const sock_fprog program{static_cast<unsigned short>(spec.seccomp_length),
                           static_cast<sock_filter*>(const_cast<void*>(spec.seccomp_filter))};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
         fail("install the seccomp filter");
}

}  // namespace hearth::isolate
