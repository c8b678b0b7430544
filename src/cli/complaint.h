// cli/complaint.h: what `hearth` prints when a command cannot do its work, and the exit code.
#pragma once

namespace hearth::cli {

// Prints the exception that is being handled, as far as it is one of those that a wrong
// configuration or machine causes, and returns the exit code; otherwise throws it again.
int complain_about_current_exception();

}  // namespace hearth::cli
