// runtime/build_options.h: how environments are built, as the settings say.
#pragma once

#include "builder/build_environment.h"
#include "runtime/backends.h"

namespace hearth::runtime {

builder::BuildOptions build_options(const BackendContext& context);

}  // namespace hearth::runtime
