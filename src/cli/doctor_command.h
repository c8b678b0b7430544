// cli/doctor_command.h: `hearth doctor`.
#pragma once

#include "backend/backend.h"

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// Adds `doctor` to `app`; when it runs, its exit code goes to `result`, which must outlive `app`.
void add_doctor_command(CLI::App& app, int& result);

// One line for each finding; what is not good is followed by what that means and how to fix it.
std::string render_findings(const std::vector<backend::Finding>& findings, bool with_colours);

}  // namespace hearth::cli
