// init/options.h: how hearth-init is told what to do.
#pragma once

#include <string>
#include <vector>

namespace hearth::init {

struct Options {
  int host_read_fd = 0;
  int host_write_fd = 1;
  std::vector<std::string> wiped_directories = {"/workspace", "/tmp", "/dev/shm"};
  std::vector<std::string> harness_command;
};

// Throws Error with a sentence for the operator.
Options parse_options(int argc, char** argv);

extern const char* const usage_text;

}  // namespace hearth::init
