// pool/binding.h: the owner, env and limits of one lease, never wider than its blueprint's. A
// decision on values alone.
#pragma once

#include "base/secret.h"
#include "blueprint/sandbox_config.h"
#include "pool/owner.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::pool {

// Written into /workspace before the first turn.
struct WorkspaceFile {
  std::string path;  // relative
  std::string content;
  unsigned mode = 0644;
};

inline constexpr std::chrono::milliseconds usual_checkout_timeout{30'000};

struct CheckoutOptions {
  // Absent: the lease has an owner of its own, and its sandbox is not reused.
  std::optional<Owner> owner{};
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> env{};
  std::vector<WorkspaceFile> files{};
  // No wider than the blueprint's; absent: the blueprint's.
  std::optional<double> cpu_quota{};
  std::optional<std::int64_t> memory_mb{};
  std::optional<std::int64_t> pids_limit{};
  std::optional<std::int64_t> execution_timeout_sec{};
  std::optional<std::int64_t> max_output_bytes{};
  std::optional<blueprint::NetworkPolicy> network_policy{};
  // How long to wait for a sandbox; absent: the pool's checkout_timeout.
  std::optional<std::chrono::milliseconds> patience{};
  // For a caller that counts for itself how many it holds, as sessions do: the lease counts against
  // the memory budget, not against the blueprint's capacity. It waits for no other lease: where the
  // memory is not there, it is CapacityReached at once.
  bool beyond_capacity = false;
};

struct Secrets {
  std::vector<std::string> names{};  // of the blueprint and its tools; a turn needs all of them
  std::map<std::string, Secret> values{};       // of those that have one
  std::map<std::string, std::string> places{};  // where those that have none were looked for
};

struct Binding {
  std::string blueprint;
  Owner owner;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> env{};  // named by the caller; beats secrets
  Secrets secrets{};
  std::vector<WorkspaceFile> files{};
  blueprint::ResourceLimits limits{};
  blueprint::NetworkPolicy network_policy{};
  std::int64_t scratch_size_mb = 0;
  blueprint::ExecutionMode mode = blueprint::ExecutionMode::plan;
  std::string language = "python";  // of a turn's script that names none
  blueprint::SysExit sys_exit = blueprint::SysExit::python;
  blueprint::OutputMode output = blueprint::OutputMode::fail;
  std::chrono::milliseconds patience{};
  bool beyond_capacity = false;
};

// The value of the secret of this name, where there is one.
using FindSecret = std::function<std::optional<Secret>(const std::string& name)>;
// Where it looks for the secret of this name, in words.
using PlaceOfSecret = std::function<std::string(const std::string& name)>;
// Each name's value, from `given` first, else what `find` says. A name without a value is left out,
// and init refuses the turn.
Secrets resolve_secrets(std::vector<std::string> names, const std::map<std::string, Secret>& given,
                        const FindSecret& find, const PlaceOfSecret& place_of = {});

// ConfigError with everything that is wider than the blueprint, or wrong.
Binding bind(const blueprint::SandboxConfig& config, const Secrets& secrets,
             CheckoutOptions options);

}  // namespace hearth::pool
