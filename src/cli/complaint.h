// cli/complaint.h: what `hearth` prints when a command cannot do its work, and the exit code.
#pragma once

#include <string>

namespace hearth::cli {

enum class BuildLog { is_new, was_shown };

// Prints the exception that is being handled, as far as it is one of those that a wrong
// configuration or machine causes, and returns the exit code; otherwise throws it again. The log of
// a build that failed is part of that, unless it was shown while it was made.
int complain_about_current_exception(BuildLog log = BuildLog::is_new);

// A line of a build's log, while it is built, on standard error.
void show_build_line(const std::string& blueprint, const std::string& line);

}  // namespace hearth::cli
