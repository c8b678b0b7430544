#include "runtime/pool_options.h"

#include "base/error.h"
#include "os/trusted_path.h"

#include <chrono>
#include <utility>

namespace hearth::runtime {
namespace {

constexpr std::size_t most_secret_bytes = 1 << 16;

Secret secret_in(const std::string& file, const std::string& name) try {
  std::string value = os::read_trusted_file(file, most_secret_bytes);
  while (value.ends_with('\n')) value.pop_back();
  return Secret(std::move(value));
} catch (const Error& error) {
  throw Error("the secret " + name + ": " + error.what());
}

std::optional<std::uint64_t> megabytes(std::int64_t count) {
  if (count == 0) return std::nullopt;
  return static_cast<std::uint64_t>(count) << 20;
}

}  // namespace

std::optional<Secret> find_secret(const settings::Settings& settings, const settings::Env& env,
                                  const std::string& name) {
  const auto source = settings.secrets.find(name);
  const bool is_configured = source != settings.secrets.end();
  if (is_configured && source->second.file) return secret_in(*source->second.file, name);
  const auto found = env.find(is_configured && source->second.env ? *source->second.env : name);
  if (found == env.end()) return std::nullopt;
  return Secret(found->second);
}

std::string place_of_secret(const settings::Settings& settings, const std::string& name) {
  const auto source = settings.secrets.find(name);
  if (source == settings.secrets.end()) return "the environment variable " + name;
  if (source->second.file) return "the file " + *source->second.file + ", as [secrets] says";
  return "the environment variable " + source->second.env.value_or(name) + ", as [secrets] says";
}

pool::PoolOptions pool_options(const settings::Settings& settings, const settings::Env& env,
                               std::map<std::string, Secret> given,
                               const pool::FleetOptions& fleet) {
  const settings::PoolSettings& wanted = settings.pool;
  pool::PoolOptions options;
  options.fleet = fleet;
  options.secrets = std::move(given);
  options.find_secret = [settings, env](const std::string& name) {
    return find_secret(settings, env, name);
  };
  options.place_of_secret = [settings](const std::string& name) {
    return place_of_secret(settings, name);
  };
  options.host_path_map = settings.host_path_map;
  if (wanted.max_uses != 0) options.max_uses = static_cast<std::uint64_t>(wanted.max_uses);
  options.memory_budget_bytes = megabytes(wanted.memory_budget_mb);
  options.idle_memory_bytes = static_cast<std::uint64_t>(wanted.idle_memory_mb) << 20;
  options.checkout_timeout = std::chrono::milliseconds(wanted.checkout_timeout_ms);
  options.fleet.max_overflow = static_cast<std::size_t>(wanted.max_overflow);
  options.fleet.replacement_delay = std::chrono::milliseconds(wanted.replacement_delay_ms);
  options.fleet.max_age = std::chrono::seconds(wanted.max_age_sec);
  options.fleet.probe_after = std::chrono::seconds(wanted.probe_after_sec);
  return options;
}

}  // namespace hearth::runtime
