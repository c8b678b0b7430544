#include "runtime/state_directory.h"

#include <unistd.h>

namespace hearth::runtime {

std::string state_directory(const settings::Settings& settings, const settings::Env& env,
                            bool is_root) {
  const bool configured = settings.state.dir != settings::StateSettings{}.dir;
  if (is_root || configured) return settings.state.dir;
  const auto value = [&](const char* name) {
    const auto found = env.find(name);
    return found == env.end() ? std::string() : found->second;
  };
  if (!value("XDG_STATE_HOME").empty()) return value("XDG_STATE_HOME") + "/hearth";
  if (!value("HOME").empty()) return value("HOME") + "/.local/state/hearth";
  return settings.state.dir;
}

std::string state_directory(const settings::Settings& settings, const settings::Env& env) {
  return state_directory(settings, env, ::geteuid() == 0);
}

}  // namespace hearth::runtime
