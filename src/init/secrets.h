// init/secrets.h: whether a request comes with the secrets that it needs.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hearth::init {

// Those of `names` that are neither in `env` nor in init's environment, with commas between them.
std::string missing_secrets(const std::vector<std::string>& names,
                            const std::map<std::string, std::string>& env);

}  // namespace hearth::init
