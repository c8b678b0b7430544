// cli/local_setup.h: from the configuration to what makes sandboxes on this machine.
#pragma once

#include "builder/native_builder.h"
#include "cli/run_plan.h"

#include <map>
#include <string>
#include <vector>

namespace hearth::cli {

builder::NativeBuilderOptions builder_options(const settings::Settings& settings,
                                              const settings::Environment& environment);

// Of the secrets a blueprint and its tools name, those that the configuration gives a source or
// that are in the environment. Throws OsError if a secret's file cannot be read.
std::map<std::string, std::string> secret_values(const RunPlan& plan,
                                                 const settings::Environment& environment);

// The versions there are, the one called python3 first.
std::vector<std::string> python_versions();

// Prints the exception that is being handled, as far as it is one of those that a wrong
// configuration or machine causes, and returns the exit code; otherwise throws it again.
int complain_about_current_exception();

}  // namespace hearth::cli
