// backend/programs.h: where the programs are that `hearth` starts.
#pragma once

#include <filesystem>

namespace hearth::backend {

struct Programs {
  std::filesystem::path launcher;
  std::filesystem::path init;
  std::filesystem::path isolate_library;
  std::filesystem::path harness;  // a directory: a Python package
};

// All of one directory: $HEARTH_LIBEXEC; else `named`; else, as for `hearth` itself, beside the
// running program, or where an installation puts them as seen from there (../libexec/hearth). The
// environment comes first, so that a path compiled into a program can be fixed without compiling.
// Throws Error naming what is missing and where it was looked for. Programs that another user could
// have written are refused (os::UntrustedPath), unless that user could have exchanged the running
// program as well.
Programs find_programs(const std::filesystem::path& named = {});

}  // namespace hearth::backend
