// runtime/pool_options.h: what the settings say about the pool, as the pool wants it.
#pragma once

#include "base/secret.h"
#include "pool/sandbox_pool.h"
#include "settings/overrides.h"
#include "settings/settings.h"

#include <map>
#include <optional>
#include <string>

namespace hearth::runtime {

// A secret's value is that in `given`, else that of the source its settings name, else that of the
// variable of its own name in `env`. `fleet`: what has no key.
pool::PoolOptions pool_options(const settings::Settings& settings, const settings::Env& env,
                               std::map<std::string, Secret> given = {},
                               const pool::FleetOptions& fleet = {});

// The value of one secret, without `given`; absent if there is none. Throws Error if its file
// cannot be read or another user could have written it.
std::optional<Secret> find_secret(const settings::Settings& settings, const settings::Env& env,
                                  const std::string& name);
// Where that looks: `the environment variable CRM_KEY_LIVE, as [secrets] says`.
std::string place_of_secret(const settings::Settings& settings, const std::string& name);

}  // namespace hearth::runtime
