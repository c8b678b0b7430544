// init/confinement.h: checks that the container is as confined as it was ordered. An engine, its
// runtime or an administrator's default may silently leave something out.
#pragma once

#include <string>
#include <string_view>

namespace hearth::init {

struct Confinement {
  std::string status;  // the text of /proc/self/status
  bool root_is_read_only = false;
};
// Of this process.
Confinement observed_confinement();

// `wanted` is a comma-separated list of caps, no-new-privs, seccomp, user and read-only. Returns a
// sentence about those that do not hold, empty if all do. Throws Error on any other word.
std::string missing_confinement(std::string_view wanted, const Confinement& found);

}  // namespace hearth::init
