// os/in_container.h: whether this process is in a container of Docker or Podman.
#pragma once

namespace hearth::os {

// Both engines leave a file that says so.
bool runs_in_container();

}  // namespace hearth::os
