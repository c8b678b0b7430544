// native/posture.h: what the kernel says a sandbox is, compared with what was asked for. A sandbox
// that differs is never used.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

// One process, as /proc shows it from outside.
struct ObservedProcess {
  pid_t pid = 0;
  std::map<std::string, std::string> status{};      // the fields of /proc/<pid>/status
  std::map<std::string, std::string> namespaces{};  // "net" to "net:[4026531840]"
  std::map<std::string, std::string> limits{};      // "Max open files" to "1024 1024 files"
  std::map<std::string, std::string> cgroups{};     // by controller; "" is version 2's one tree
  std::vector<std::string> descriptors{};           // what they lead to
  std::optional<std::string> mountinfo{};           // nothing: not looked at
};
// Throws OsError when it cannot be read.
enum class Mounts { read, skip };
ObservedProcess observe_process(pid_t pid, Mounts mounts = Mounts::read);
std::vector<pid_t> children_of(pid_t pid);

struct ExpectedPosture {
  uid_t uid = 0;
  gid_t gid = 0;
  bool no_groups = true;                                // an ordinary user cannot leave his own
  std::map<std::string, std::string> our_namespaces{};  // none of which it may be in
  // What its groups end with, for each of these controllers.
  std::string cgroup{};
  std::vector<std::string> controllers{};
};

// All there are, in words.
using Differences = std::vector<std::string>;
Differences differences(const ObservedProcess& observed, const ExpectedPosture& expected);

// The first process and all that it has, read and compared.
Differences differences_of_sandbox(pid_t first, const ExpectedPosture& expected);
// One that has just come into the sandbox of `first`.
Differences differences_of_newcomer(pid_t pid, pid_t first, const ExpectedPosture& expected);

}  // namespace hearth::native
