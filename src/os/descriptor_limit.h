// os/descriptor_limit.h: how many file descriptors this process may have.
#pragma once

namespace hearth::os {

// As many as the hard limit allows: each sandbox needs a few.
void raise_descriptor_limit();

}  // namespace hearth::os
