#include "launcher/namespaces.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace hearth::launcher {
namespace {

void write_to(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw OsError("write " + path);
}

std::string own_user_only(unsigned outside) { return "0 " + std::to_string(outside) + " 1"; }

void unshare_user_namespace() {
  if (::unshare(CLONE_NEWUSER) == 0) return;
  throw Error(std::string("create a user namespace: ") + std::strerror(errno) +
              " (`hearth doctor` says how to allow it)");
}

// Whoever is in a new user namespace cannot say himself which users it contains, so a child that
// stayed outside does.
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
    go_.reset();
    int status = 0;
    if (::waitpid(child_, &status, 0) != child_ || status != 0)
      throw Error("the users of the new namespace cannot be set");
  }

 private:
  [[noreturn]] static void write_maps(int wait_for, const std::string& parent,
                                      const std::string& map) try {
    char byte = 0;
    if (::read(wait_for, &byte, 1) != 0) std::_Exit(1);
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

void become_able_to_mount(const UidRange& uids) {
  if (uids.count == 0) {
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    unshare_user_namespace();
    write_to("/proc/self/setgroups", "deny");
    write_to("/proc/self/uid_map", own_user_only(uid));
    write_to("/proc/self/gid_map", own_user_only(gid));
  }
  if (::unshare(CLONE_NEWNS) != 0) throw OsError("create a mount namespace");
}

void enter_namespaces(const UidRange& uids, bool shares_network) {
  // The new root is built and the old one is still there, with its /proc.
  const std::string map =
      uids.count == 0 ? own_user_only(0)
                      : "0 " + std::to_string(uids.first) + " " + std::to_string(uids.count);
  MapWriter maps("/old/proc", map);
  unshare_user_namespace();
  maps.write();
  if (uids.count > 0 && ::setgroups(0, nullptr) != 0) throw OsError("leave all groups");
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
    throw OsError("become the new namespace's root");
  const int network = shares_network ? 0 : CLONE_NEWNET;
  if (::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                network) != 0)
    throw OsError("create namespaces");
}

void die_with_parent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) throw OsError("ask for the parent's death signal");
}

}  // namespace hearth::launcher
