// init/options.h: the command line of hearth-init.
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
  std::string confined;                  // a list for missing_confinement(), checked first
  // The image's list of users, and the directory for the changed one, which a reset empties, too.
  struct Passwd {
    std::string source{};
    std::string directory{};
  };
  std::optional<Passwd> passwd;
  std::string packages;  // the blueprint's Python packages, which commands find, too
  std::vector<std::string> harness_command;
  // Instead of a command: the socket to the host, which makes the workers, and the first of them.
  struct Adopted {
    int control_fd = -1;
    std::array<int, 4> worker_fds{};  // stdout, stderr, emit: read ends; run: write end
    std::string python{};             // these versions a harness would report itself
    std::string harness_version{};
  };
  std::optional<Adopted> adopted;
};

// Throws Error with a sentence for the operator.
Options parse_options(int argc, char** argv);

extern const char* const usage_text;

}  // namespace hearth::init
