// init/user_list.h: /etc/passwd of a container. Its uid is known only when the container is
// created.
#pragma once

#include "init/options.h"

#include <sys/types.h>

#include <string>
#include <string_view>

namespace hearth::init {

// `passwd` with `uid` as the number of the user "sandbox".
std::string with_sandbox_uid(std::string_view passwd, uid_t uid);

// With this process's user, in place of an older one. Throws OsError.
void write_user_list(const Options::Passwd& passwd);

}  // namespace hearth::init
