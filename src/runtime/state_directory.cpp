#include "runtime/state_directory.h"

#include <unistd.h>

namespace hearth::runtime {

std::string state_directory(const settings::Settings& settings, const settings::Env& env,
                            bool is_root) {
  const bool configured = settings.state.dir != settings::StateSettings{}.dir;
  if (is_root || configured) return settings.state.dir;
  // A relative one would be in whatever directory Hearth was started in; XDG's specification says
  // to ignore it.
  const auto absolute = [&](const char* name) {
    const auto found = env.find(name);
    return found == env.end() || !found->second.starts_with('/') ? std::string() : found->second;
  };
  if (const std::string state = absolute("XDG_STATE_HOME"); !state.empty())
    return state + "/hearth";
  if (const std::string home = absolute("HOME"); !home.empty())
    return home + "/.local/state/hearth";
  return settings.state.dir;
}

std::string state_directory(const settings::Settings& settings, const settings::Env& env) {
  return state_directory(settings, env, ::geteuid() == 0);
}

}  // namespace hearth::runtime
