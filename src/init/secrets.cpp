#include "init/secrets.h"

#include <cstdlib>

namespace hearth::init {

std::string missing_secrets(const std::vector<std::string>& names,
                            const std::map<std::string, std::string>& env) {
  std::string missing;
  for (const std::string& name : names) {
    if (env.contains(name) || std::getenv(name.c_str()) != nullptr) continue;
    missing += (missing.empty() ? "" : ", ") + name;
  }
  return missing;
}

}  // namespace hearth::init
