// launcher/namespaces.h: the zygote's users and namespaces, and its exit together with its parent.
#pragma once

#include "launcher/options.h"

namespace hearth::launcher {

// Creates a zygote's namespaces. The functions are called in their order here.
class Namespaces {
 public:
  // Throws Error if the machine's root would be among the users.
  explicit Namespaces(const UidRange& uids);

  // A mount namespace. Without CAP_SYS_ADMIN it belongs to a new user namespace that contains the
  // range, or the caller as root. The caller can still open its own files.
  void become_able_to_mount();
  // Becomes the first user of the range, if the caller is not a user of the new namespace: files
  // that it creates must have an owner there.
  void become_first_user();
  // Enters all namespaces of a zygote. Its user namespace contains the range, or only the caller.
  // The pid namespace is that of the children. The network stays the caller's if it is shared.
  void enter(bool shares_network);

 private:
  enum class Way {
    range,                    // CAP_SYS_ADMIN: mounts need no user namespace
    range_in_user_namespace,  // CAP_SETUID and CAP_SETGID are enough for this one
    caller,                   // needs no capability
  };
  UidRange uids_;  // as numbered in the present user namespace
  Way way_;
};

// SIGKILL when the parent exits. The kernel drops this whenever the user changes.
void die_with_parent();

}  // namespace hearth::launcher
