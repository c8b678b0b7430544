// launcher/options.h: the command line of the launcher.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hearth::launcher {

// The steps that build the zygote's root, in the order given.
struct Bind {
  std::string source;  // a path outside
  std::string target;
  bool writable = false;
  bool follows_links = true;  // on the way to the source and at its end
};
struct Directory {
  std::string path;
};
struct Symlink {
  std::string target;
  std::string path;
};
struct File {
  std::string path;
  std::string content;
};
struct Devices {};  // /dev with five harmless devices
struct Scratch {    // a file system in memory
  std::string path;
  std::uint32_t megabytes = 0;
};
using Step = std::variant<Bind, Directory, Symlink, File, Devices, Scratch>;

// The users of the zygote's user namespace. `count` 0: only the caller, as root.
struct UidRange {
  uid_t first = 0;
  uid_t count = 0;
};

// What COMMAND may not do. See confinement.h.
struct Confinement {
  std::uint32_t user = 0;       // inside; 0: COMMAND keeps the capabilities of the namespace's root
  std::uint64_t memory_mb = 0;  // of each process; these three: 0 is no limit
  std::uint64_t processes = 0;
  std::uint64_t file_mb = 0;
};

struct Options {
  std::vector<Step> steps;
  UidRange uids;
  bool shares_network = false;
  bool keeps_environment = false;
  std::vector<int> cgroup_fds;  // to be joined
  int seccomp_fd = -1;          // a compiled filter
  Confinement confinement;
  std::vector<int> kept_fds;
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> command;
};

// Throws Error with a sentence for the operator.
Options parse_options(int argc, char** argv);

extern const char* const usage_text;

}  // namespace hearth::launcher
