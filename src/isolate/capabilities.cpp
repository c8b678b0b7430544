#include "isolate/capabilities.h"

#include "isolate/failure.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace hearth::isolate {

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
