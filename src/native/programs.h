// native/programs.h: the programs that belong to `hearth` and are not in it.
#pragma once

#include <filesystem>

namespace hearth::native {

struct Programs {
  std::filesystem::path launcher;
  std::filesystem::path init;
  std::filesystem::path isolate_library;
  std::filesystem::path harness;
};

// Beside the running program, or where an installation puts them (../lib/hearth). Throws Error
// naming the one that is missing.
Programs find_programs();

}  // namespace hearth::native
