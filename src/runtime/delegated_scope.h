// runtime/delegated_scope.h: this process, started again where the systemd of its user has
// delegated cgroups to it, so that limits need no root and no preparation.
#pragma once

#include "settings/overrides.h"

namespace hearth::runtime {

// For a program that may be started again with the same arguments: before it has read anything,
// changed anything or started a thread. Its process id, terminal, directory and variables stay, and
// so does the way in which it ends. Does not return if the new start succeeds. Does nothing for
// root, where cgroups can be used, where systemd grants none, or if $HEARTH_SCOPE says `off`, as it
// does after the new start.
void enter_delegated_scope(const settings::Env& env);

}  // namespace hearth::runtime
