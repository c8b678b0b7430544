// native/seccomp_profile.h: which system calls a sandbox's processes may use.
#pragma once

#include "os/unique_fd.h"

namespace hearth::native {

// The compiled filter (struct sock_filter[]) in a file without a name, readable from its start.
// What is not on the list does not exist (ENOSYS), what is known to be dangerous is refused
// (EPERM), a call in another machine's convention ends the process.
os::UniqueFd compile_seccomp_profile();

}  // namespace hearth::native
