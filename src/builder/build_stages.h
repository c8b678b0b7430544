// builder/build_stages.h: the images of a build's first stage. Wheels, and what gave access to a
// package index, are in their layers: none may stay.
#pragma once

#include "docker/engine_client.h"

#include <string>

namespace hearth::builder {

// Those of the build called `stage`, and of builds that must have ended long ago. The engine may
// still be ending a container of a build that was given up, and may make an image of it: so again
// and again for a while, until there is none. Throws Error if some are left.
Task<> remove_stages(docker::EngineClient& client, std::string stage);

}  // namespace hearth::builder
