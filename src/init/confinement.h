// init/confinement.h: whether the place this runs in is as closed as it was ordered. An engine, its
// runtime or an administrator's default may leave something out without a word; who starts scripts
// looks for itself.
#pragma once

#include <string>
#include <string_view>

namespace hearth::init {

struct Surroundings {
  std::string status;  // of /proc/self/status
  bool root_is_read_only = false;
};
Surroundings surroundings();

// What `wanted`, of caps,no-new-privs,seccomp,user,read-only with commas between, does not hold, in
// words; empty when all does. Throws Error on a word that is none of these.
std::string missing_confinement(std::string_view wanted, const Surroundings& found);

}  // namespace hearth::init
