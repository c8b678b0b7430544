// native/observed_process.h: what /proc shows of a process, from outside.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::native {

struct ObservedProcess {
  pid_t pid = 0;
  std::map<std::string, std::string> status{};      // of /proc/<pid>/status, what is asked about
  std::map<std::string, std::string> namespaces{};  // "net" to "net:[4026531840]"
  std::map<std::string, std::string> limits{};      // "Max open files" to "1024 1024 files"
  std::map<std::string, std::string> cgroups{};     // by controller; "" is version 2's one tree
  std::vector<std::string> descriptors{};           // what they lead to
  std::optional<std::string> mountinfo{};           // nothing: not looked at
};

// How much of it is read; each is more than the one before. Every file costs the kernel a walk, and
// sandboxes are looked at by the hundred a second.
enum class Look { identity, surroundings, mounts };  // status and descriptors; all but mounts; all
// Throws OsError when it cannot be read.
ObservedProcess observe_process(pid_t pid, Look look = Look::mounts);

std::vector<pid_t> children_of(pid_t pid);

}  // namespace hearth::native
