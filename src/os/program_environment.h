// os/program_environment.h: the variables of programs that Hearth starts with its own rights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::os {

// The entries of a $PATH in which a program may be looked up. Root drops those that are relative or
// that another user could change: a trusted script finds its own interpreter there.
std::string trusted_search_path(std::string_view search_path);

// The caller's variables as NAME=value, with the trusted part of its $PATH. Without those that make
// a loader, a Python or a shell run further code: LD_*, PYTHON*, ENV, BASH_ENV.
std::vector<std::string> program_environment();

}  // namespace hearth::os
