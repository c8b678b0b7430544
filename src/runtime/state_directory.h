// runtime/state_directory.h: where environments and everything else that outlives a process is.
#pragma once

#include "settings/overrides.h"
#include "settings/settings.h"

#include <string>

namespace hearth::runtime {

// As configured, but not where only root may write.
std::string state_directory(const settings::Settings& settings, const settings::Env& env,
                            bool is_root);
// For the user this process runs as.
std::string state_directory(const settings::Settings& settings, const settings::Env& env);

}  // namespace hearth::runtime
