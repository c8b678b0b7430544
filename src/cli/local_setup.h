// cli/local_setup.h: from the configuration to what makes sandboxes on this machine.
#pragma once

#include "base/secret.h"
#include "builder/native_builder.h"
#include "cli/run_plan.h"

#include <map>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

builder::NativeBuilderOptions builder_options(const settings::Settings& settings,
                                              const settings::Env& environment);

// Of the secrets a blueprint and its tools name, those that the configuration gives a source or
// that are in the environment. Throws Error if a secret's file cannot be read or is not trusted.
std::map<std::string, Secret> secret_values(const RunPlan& plan, const settings::Env& environment);

// The versions there are on this machine, the one called python3 first; for containers none, since
// their Python is not of this machine.
std::vector<std::string> python_versions(const RunOptions& options);

// --backend
void add_backend_option(CLI::App& command, RunOptions& options);

// Prints the exception that is being handled, as far as it is one of those that a wrong
// configuration or machine causes, and returns the exit code; otherwise throws it again.
int complain_about_current_exception();

// As many as this process may have at most: each sandbox needs a few.
void allow_many_descriptors();

// A script named on the command line; - is standard input.
std::string read_script(const std::string& file);

}  // namespace hearth::cli
