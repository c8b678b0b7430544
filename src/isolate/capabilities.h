// isolate/capabilities.h: drops all capabilities for good.
#pragma once

namespace hearth::isolate {

// False after fail(). Also forbids new privileges.
bool drop_capabilities();

}  // namespace hearth::isolate
