// init/options.h: how hearth-init is told what to do.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace hearth::init {

struct Options {
  int host_read_fd = 0;
  int host_write_fd = 1;
  std::vector<std::string> wiped_directories = {"/workspace", "/tmp", "/dev/shm"};
  std::string workspace = "/workspace";  // where files from the host are put
  std::string confined;                  // what confinement.h shall check first
  // Where the list of users comes from, and the directory for ours: emptied by a reset, too.
  struct Passwd {
    std::string source{};
    std::string directory{};
  };
  std::optional<Passwd> passwd;
  std::vector<std::string> harness_command;
  // Instead of a command: a socket to whoever makes workers outside, and the first of them.
  struct Adopted {
    int control_fd = -1;
    std::array<int, 4> worker_fds{};  // stdout, stderr, emit: read ends; run: write end
    std::string python{};             // versions, of which a harness of our own would tell us
    std::string harness_version{};
  };
  std::optional<Adopted> adopted;
};

// Throws Error with a sentence for the operator.
Options parse_options(int argc, char** argv);

extern const char* const usage_text;

}  // namespace hearth::init
