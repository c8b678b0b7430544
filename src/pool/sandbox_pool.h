// pool/sandbox_pool.h: a warm fleet for each blueprint, handed out at once, bounded, never leaking.
// Stands between what makes sandboxes and what runs scripts in them; knows no backend.
#pragma once

#include "async/clock.h"
#include "async/event.h"
#include "async/mutex.h"
#include "backend/backend.h"
#include "pool/fleet.h"
#include "pool/host_path_map.h"
#include "pool/lease.h"
#include "registry/tool_registry.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::pool {

struct PoolOptions {
  // Values of secrets by name; `find_secret` is asked for those that are not here, when a blueprint
  // that names them is started. It may throw.
  std::map<std::string, Secret> secrets{};
  FindSecret find_secret{};
  PlaceOfSecret place_of_secret{};

  // For a controller that runs in a container: path prefixes as it sees them, and as the engine's
  // machine does. The longest that holds a path wins.
  std::map<std::string, std::string> host_path_map{};

  FleetOptions fleet{};
  // Leases of one sandbox, all of the same named owner. Absent: what the backend is made for.
  std::optional<std::uint64_t> max_uses{};
  std::chrono::milliseconds checkout_timeout = usual_checkout_timeout;
  std::optional<std::uint64_t> memory_budget_bytes{};  // absent: eight tenths of what there is
  // What an idle sandbox is counted for; a leased one is counted for all it may use.
  std::uint64_t idle_memory_bytes = std::uint64_t{4} << 20;
};

class SandboxPool {
 public:
  // Lines of a build's log; on the loop; must not throw.
  using OnProgress = std::function<void(const std::string& sandbox, const std::string& line)>;

  // What is referred to must outlive the pool. ConfigError if the path map makes no sense.
  SandboxPool(const asio::any_io_executor& executor, const registry::ToolRegistry& registry,
              backend::Backend& backend, PoolOptions options, Clock* clock = nullptr);
  // After shutdown().
  ~SandboxPool();
  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;

  // Builds what is missing and returns when each of these sandboxes (without names: all that are
  // registered) has as many idle as its blueprint wants. Those that are started already stay as
  // they are. UnknownBlueprint, ConfigError if the memory cannot suffice, what building or spawning
  // throws: then none of them is started.
  Task<> startup(std::vector<std::string> names = {}, OnProgress on_progress = {});

  // UnknownBlueprint if it was not started; ConfigError if the options want more than the blueprint
  // allows; CapacityReached, SpawningFails, SpawnError, PoolClosed. The lease may outlive the pool,
  // not its executor.
  Task<Lease> checkout(std::string name, CheckoutOptions options = {});

  // What a checkout would throw because of what it asks for.
  void check(const std::string& name, CheckoutOptions options) const;
  // False: others must end before such a lease can be had.
  bool has_memory_for(const std::string& name, CheckoutOptions options) const;
  std::size_t idle_count() const;

  // No new leases; those that are out have `drain` to come back, then everything is killed. When it
  // returns no process of a sandbox is left. May be called again.
  Task<> shutdown(std::chrono::milliseconds drain = {});

  PoolStats stats() const;
  std::vector<std::string> live_ids() const;

 private:
  struct Entry {
    std::shared_ptr<Fleet> fleet;
    Secrets secrets;
  };

  const Entry& started(const std::string& name) const;
  std::vector<std::string> not_started(std::vector<std::string> names) const;
  void reserve_memory_for(const std::vector<std::string>& names);
  Task<> start_one(std::string name, OnProgress on_progress, std::map<std::string, Entry>& started);
  Task<> open_source(std::string name, OnProgress on_progress,
                     std::shared_ptr<backend::SandboxSource>& source);
  FleetOptions fleet_options() const;
  std::vector<blueprint::Mount> mounts_of(const std::string& sandbox) const;

  asio::any_io_executor executor_;
  const registry::ToolRegistry& registry_;
  backend::Backend& backend_;
  PoolOptions options_;
  HostPathMap host_paths_;
  SystemClock own_clock_;
  Clock& clock_;
  std::shared_ptr<MemoryBudget> budget_;
  std::vector<MemoryBudget::Share> idle_memory_;
  std::map<std::string, Entry> fleets_;
  bool is_shut_down_ = false;
  AsyncEvent shutting_down_;
  Mutex starting_;
  TaskGroup ending_;
};

}  // namespace hearth::pool
