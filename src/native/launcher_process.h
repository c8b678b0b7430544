// native/launcher_process.h: hearth-launcher as a process, and the descriptors it starts with.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace hearth::native {

struct PlacedFd {
  int fd;
  int place;  // its number in the new process
};

// Starts it with these descriptors only, and /dev/null as standard input. In a session of its own:
// Ctrl-C on the terminal is for this process, which ends the sandboxes in order. Throws OsError.
pid_t start_launcher(const std::filesystem::path& launcher, std::vector<std::string> arguments,
                     const std::vector<PlacedFd>& fds);

}  // namespace hearth::native
