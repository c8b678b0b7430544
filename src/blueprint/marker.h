// blueprint/marker.h: the condition after the `;` of a requirement (PEP 508), like
// `python_version < "3.9"`. Checks its grammar; evaluates nothing.
#pragma once

#include "blueprint/cursor.h"

#include <string>

namespace hearth::blueprint {

// Reads a marker at the cursor and returns it with single blanks; throws RequirementError.
std::string take_marker(Cursor& cursor);

}  // namespace hearth::blueprint
