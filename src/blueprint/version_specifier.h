// blueprint/version_specifier.h: one clause of a version specifier (PEP 440), like `>=1.4` or
// `==2.*`. Checks that pip would read it; compares nothing.
#pragma once

#include "blueprint/cursor.h"

#include <string>

namespace hearth::blueprint {

// Reads one clause at the cursor and returns it without blanks; throws RequirementError.
std::string take_version_clause(Cursor& cursor);

// Reads `<=`, `==`, `~=` and so on; empty if there is none.
std::string_view take_version_operator(Cursor& cursor);

}  // namespace hearth::blueprint
