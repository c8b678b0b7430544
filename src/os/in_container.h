// os/in_container.h: whether this process is in a container of Docker or Podman.
#pragma once

namespace hearth::os {

// Engines leave a file for those who ask.
bool runs_in_container();

}  // namespace hearth::os
