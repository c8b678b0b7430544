// launcher/namespaces.h: the zygote's users and namespaces, and that it ends when we do.
#pragma once

#include "launcher/options.h"

namespace hearth::launcher {

// The way to a zygote's namespaces. The order of the calls is the order of the functions.
class Namespaces {
 public:
  // Throws Error if the machine's root would be among the users.
  explicit Namespaces(const UidRange& uids);

  // A mount namespace. Without CAP_SYS_ADMIN it belongs to a new user namespace that contains the
  // range, or the caller as root. The caller can still open its own files.
  void become_able_to_mount();
  // The first of the range, where the caller itself is not among the users of the new namespace:
  // files it creates must have an owner there.
  void become_first_user();
  // All the namespaces a zygote has; its user namespace contains the range, or only the caller.
  // The pid namespace is for our children. The network stays the caller's where it is shared.
  void enter(bool shares_network);

 private:
  enum class Way {
    range,                    // CAP_SYS_ADMIN: mounts need no user namespace
    range_in_user_namespace,  // CAP_SETUID and CAP_SETGID are enough for this one
    caller,                   // needs no right
  };
  UidRange uids_;  // by their numbers in the user namespace we are in
  Way way_;
};

// SIGKILL when the parent ends. Forgotten by the kernel whenever the user changes.
void die_with_parent();

}  // namespace hearth::launcher
