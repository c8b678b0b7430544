// runtime/settings_warnings.h: what a valid configuration says that will fail on this machine,
// found without starting anything.
#pragma once

#include "settings/load.h"

#include <string>
#include <vector>

namespace hearth::runtime {

// Host paths, versions of Python, preloaded modules, directories of wheels, secrets, hosts. Each at
// its place and marked as a warning; sorted by position.
std::vector<settings::Diagnostic> warnings_of(const settings::LoadedSettings& loaded,
                                              const settings::Env& env);

// The host paths of one blueprint that do not exist: an error when its sandboxes are started.
std::vector<settings::Diagnostic> missing_host_paths(const settings::LoadedSettings& loaded,
                                                     const std::string& blueprint);

// The Python that scripts of this blueprint will run in, like `3.11.2 (/usr/bin/python3.11)`. Empty
// where this machine does not say it: it is in an image, or there is none.
std::string python_in_use(const settings::Settings& settings,
                          const blueprint::SandboxConfig& config);

}  // namespace hearth::runtime
