// pool/fleet.h: the sandboxes of one blueprint and the callers that want one. Never more than its
// capacity are alive or being made. Each sandbox is in one of these states:
//
//   spawning --ready--> idle --checkout--> leased --return--> cleaning --clean--> idle
//      |                idle --probe------------------------> cleaning --well---> idle
//      |
//      |                idle ------ too old, surplus, or its place is needed --+
//      |                leased ---- last use, or left unusable ----------------+--> retiring
//      |                cleaning -- not clean, or not well --------------------+       |
//      |                                                                               |
//      +--failed-----------------------> its place is free <---all processes exited----+
//
// A sandbox that exits by itself is retired at once if it is idle, and when its lease or its
// cleaning ends otherwise. A fleet itself is open, then refuses callers, then is closed.
#pragma once

#include "async/clock.h"
#include "async/event.h"
#include "async/task_group.h"
#include "pool/errors.h"
#include "pool/fleet_options.h"
#include "pool/lease.h"
#include "pool/sandboxes_by_owner.h"
#include "pool/spawn_policy.h"
#include "pool/waiting_line.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::pool {

class Fleet : public std::enable_shared_from_this<Fleet> {
 public:
  // `clock` must outlive it.
  Fleet(const asio::any_io_executor& executor, blueprint::SandboxConfig config,
        const FleetOptions& options, std::shared_ptr<backend::SandboxSource> source,
        std::shared_ptr<MemoryBudget> budget, Clock& clock);

  // Starts to fill the fleet.
  void start();
  // Right after start(): returns when as many as the blueprint wants are idle; throws what a spawn
  // failed with.
  Task<> filled();

  // Throws CapacityReached, PoolClosed, SpawningFails, or what a spawn failed with.
  Task<Lease> checkout(Binding binding);
  bool has_memory_for(const Binding& binding) const;
  std::size_t idle_count() const { return idle_.count(); }

  // Serves waiting callers and spawns what is wanted, as far as there is room. To be called
  // whenever something has changed that they may wait for. Never throws.
  void rebalance();

  // No more leases; waiting callers get an error.
  void refuse();
  // Returns when all leases have ended. May be cancelled.
  Task<> all_returned();
  // Ends everything, also what is in use.
  Task<> close();

  FleetStats stats() const;
  std::vector<std::string> ids() const;  // of all live sandboxes
  const blueprint::SandboxConfig& config() const { return config_; }

 private:
  friend class Lease;
  using Managed = std::shared_ptr<ManagedSandbox>;
  class Place;   // of a waiter in the line
  struct Extra;  // a sandbox that is made beyond the capacity

  // ---- facts
  FleetCounts counts() const;
  std::size_t leased_count() const { return leased_.size() + leased_last_.size(); }
  std::size_t pool_size() const { return static_cast<std::size_t>(config_.pool_size); }
  std::size_t capacity() const { return pool_size() + options_.max_overflow; }
  // True if a sandbox is retired after this use. An owner without a name never comes back.
  bool is_last_use(const Owner& owner, std::uint64_t use_count) const {
    return !owner.is_named() || use_count >= options_.max_uses;
  }
  bool is_last_lease(const ManagedSandbox& managed) const {
    return managed.is_beyond_capacity || is_last_use(*managed.owner, managed.use_count);
  }
  std::set<Managed>& leases_with(const ManagedSandbox& managed);
  std::exception_ptr expired(const Waiter& waiter) const;
  // Why a sandbox does not fit.
  std::string memory_in_words() const;
  std::exception_ptr open_circuit() const;

  // ---- callers
  Task<Lease> checkout_beyond(Binding binding);
  Task<Managed> spawned_beyond();
  Task<> spawn_beyond(std::shared_ptr<Extra> extra);
  Task<Lease> prepared(Lease lease, Binding binding, CheckoutKind kind, Clock::Time asked);
  Task<> wait_in_line(Waiter& waiter);
  void serve_waiters();
  void lease_to_first(const Managed& managed, MemoryBudget::Share memory);
  Lease begin_lease(const Managed& managed, const Owner& owner, MemoryBudget::Share memory);
  void give_back(const Managed& managed);
  std::optional<Retirement> fate_of(const ManagedSandbox& managed) const;

  // ---- spawns
  void make_room();
  void start_spawns();
  Task<> spawn_one();
  void spawn_failed(const std::exception_ptr& failure);
  void spawn_succeeded(std::unique_ptr<backend::Sandbox> sandbox);
  Managed adopt(std::unique_ptr<backend::Sandbox> sandbox);
  void delay_replacement();
  void set_replacement_alarm();

  // ---- sandboxes between leases
  void put_idle(const Managed& managed);
  void start_cleaning(const Managed& managed);
  Task<> clean(Managed managed);
  Task<> probe(Managed managed);
  void cleaning_ended(const Managed& managed, const std::string& problem, Retirement if_problem);
  Task<> check_idle_periodically();
  void check_idle();
  void drop_surplus();

  // ---- their end
  Task<> watch(Managed managed);
  Task<> gone(Managed managed);
  void retire(const Managed& managed, Retirement reason);
  Task<> kill(Managed managed);
  void remove(const Managed& managed);

  asio::any_io_executor executor_;
  blueprint::SandboxConfig config_;
  FleetOptions options_;
  std::shared_ptr<backend::SandboxSource> source_;
  std::shared_ptr<MemoryBudget> budget_;
  Clock& clock_;

  std::set<Managed> all_;  // live, in any state
  SandboxesByOwner idle_;
  SandboxesByOwner cleaning_;      // or being probed
  std::set<Managed> leased_;       // that may be reused
  std::set<Managed> leased_last_;  // that are retired afterwards
  std::size_t spawning_ = 0;
  std::size_t beyond_capacity_ = 0;  // live ones that do not count
  WaitingLine line_;
  bool first_waits_for_memory_ = false;
  SpawnPolicy policy_;
  std::exception_ptr last_failure_;
  std::unique_ptr<Clock::Alarm> retry_;
  std::unique_ptr<Clock::Alarm> replacement_alarm_;

  bool is_refusing_ = false;
  bool is_closed_ = false;
  bool is_rebalancing_ = false;
  bool rebalance_again_ = false;
  AsyncEvent changed_;
  FleetStats totals_;  // those that only grow
  TaskGroup background_;
};

}  // namespace hearth::pool
