#include "os/in_container.h"

#include <unistd.h>

namespace hearth::os {

bool runs_in_container() {
  return ::access("/.dockerenv", F_OK) == 0 || ::access("/run/.containerenv", F_OK) == 0;
}

}  // namespace hearth::os
