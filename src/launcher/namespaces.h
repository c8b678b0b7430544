// launcher/namespaces.h: who the zygote is, and that it ends when we do.
#pragma once

#include "launcher/options.h"

namespace hearth::launcher {

// With `uids`, as the machine's root: a mount namespace. Else a user namespace too, in which the
// caller is root. From then on mounts can be made.
void become_able_to_mount(const UidRange& uids);

// All the namespaces a zygote has; its user namespace contains `uids`, or nobody but the caller.
// The pid namespace is for our children. The network stays the caller's where it is shared.
void enter_namespaces(const UidRange& uids, bool shares_network);

// SIGKILL when the parent ends. Forgotten by the kernel whenever the user changes.
void die_with_parent();

}  // namespace hearth::launcher
