#include "launcher/namespaces.h"

#include "base/error.h"
#include "os/unique_fd.h"
#include "os/user_rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace hearth::launcher {
namespace {

void write_to(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw OsError("write " + path);
}

std::string map_of(const UidRange& uids) {
  return "0 " + std::to_string(uids.first) + " " + std::to_string(uids.count);
}

void unshare_user_namespace() {
  if (::unshare(CLONE_NEWUSER) == 0) return;
  throw Error(std::string("create a user namespace: ") + std::strerror(errno) +
              " (`hearth doctor` says how to allow it; in a container: docker run --security-opt "
              "seccomp=unconfined, or the profile of docs/containers.md)");
}

void become_root_inside() {
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
    throw OsError("become the new namespace's root");
}

// A process in a new user namespace cannot map a range of users. A child that stays outside does.
class MapWriter {
 public:
  MapWriter(const std::string& proc, const std::string& map) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("create a pipe");
    os::UniqueFd wait_for(ends[0]);
    go_.reset(ends[1]);
    const std::string parent = proc + "/" + std::to_string(::getpid());
    child_ = ::fork();
    if (child_ < 0) throw OsError("fork");
    if (child_ > 0) return;
    go_.reset();
    write_maps(wait_for.get(), parent, map);
  }

  void write() {
    // If the pipe is closed without a byte, there is no namespace to write for.
    if (::write(go_.get(), "x", 1) != 1) throw OsError("write to a pipe");
    int status = 0;
    if (::waitpid(child_, &status, 0) != child_ || status != 0)
      throw Error("the users of the new namespace cannot be set");
  }

 private:
  [[noreturn]] static void write_maps(int wait_for, const std::string& parent,
                                      const std::string& map) try {
    char byte = 0;
    if (::read(wait_for, &byte, 1) != 1) std::_Exit(1);
    write_to(parent + "/uid_map", map);
    write_to(parent + "/gid_map", map);
    std::_Exit(0);
  } catch (const Error& error) {
    ::dprintf(STDERR_FILENO, "hearth-launcher: %s\n", error.what());
    std::_Exit(1);
  }

  os::UniqueFd go_;
  pid_t child_ = 0;
};

}  // namespace

Namespaces::Namespaces(const UidRange& uids) : uids_(uids) {
  way_ = uids.count == 0                                  ? Way::caller
         : os::has(os::own_capabilities(), CAP_SYS_ADMIN) ? Way::range
                                                          : Way::range_in_user_namespace;
  const std::optional<uid_t> host_root = os::host_root_uid();
  if (!host_root) return;
  if (way_ == Way::caller && ::geteuid() == *host_root)
    throw Error("the machine's root is never a user of sandboxes; name others with --uids");
  if (way_ != Way::caller && *host_root >= uids.first && *host_root - uids.first < uids.count)
    throw Error("the machine's root is never a user of sandboxes, but --uids contains it");
}

void Namespaces::become_able_to_mount() {
  if (way_ == Way::caller) {
    const std::string user = map_of({::geteuid(), 1});
    const std::string group = map_of({::getegid(), 1});
    unshare_user_namespace();
    write_to("/proc/self/setgroups", "deny");
    write_to("/proc/self/uid_map", user);
    write_to("/proc/self/gid_map", group);
    uids_ = {0, 1};
  } else if (way_ == Way::range_in_user_namespace) {
    MapWriter maps("/proc", map_of(uids_));
    unshare_user_namespace();
    maps.write();
    uids_.first = 0;
  }
  if (::unshare(CLONE_NEWNS) != 0) throw OsError("create a mount namespace");
}

void Namespaces::become_first_user() {
  if (way_ != Way::range_in_user_namespace) return;
  if (::setgroups(0, nullptr) != 0) throw OsError("leave all groups");
  become_root_inside();
  // A change of user makes a process undumpable, and then its child cannot write its maps.
  if (::prctl(PR_SET_DUMPABLE, 1) != 0) throw OsError("become dumpable");
}

void Namespaces::enter(bool shares_network) {
  // The new root is built, and the old one still exists, with its /proc.
  MapWriter maps("/old/proc", map_of(uids_));
  unshare_user_namespace();
  maps.write();
  if (way_ == Way::range && ::setgroups(0, nullptr) != 0) throw OsError("leave all groups");
  become_root_inside();
  const int network = shares_network ? 0 : CLONE_NEWNET;
  if (::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                network) != 0)
    throw OsError("create namespaces");
}

void die_with_parent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) throw OsError("ask for the parent's death signal");
}

}  // namespace hearth::launcher
