// pool/fleet.h: the sandboxes of one blueprint: those that wait, those that are leased, those on
// their way in and out, and the callers who want one. Never more than its capacity are alive.
#pragma once

#include "async/clock.h"
#include "async/task_group.h"
#include "pool/lease.h"
#include "pool/spawn_circuit.h"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hearth::pool {

// No sandbox came free while the caller was willing to wait.
struct CapacityReached : Error {
  using Error::Error;
};
struct PoolClosed : Error {
  using Error::Error;
};
// Not tried, because so many before it failed. `cause` is what the last one said.
struct SpawningFails : Error {
  SpawningFails(const std::string& message, std::string why)
      : Error(message), cause(std::move(why)) {}
  std::string cause;
};

struct FleetOptions {
  std::size_t max_overflow = 10;
  std::uint64_t max_uses = 1;
  std::size_t parallel_spawns = 1;
  // After a checkout that leaves others idle, before its replacement is made: to make one takes the
  // processors away from the turn that has just begun, and most turns are over by then.
  std::chrono::milliseconds replacement_delay{5};
  std::chrono::seconds max_age{3600};
  std::chrono::seconds probe_after{60};  // idle
  std::chrono::milliseconds reset_limit{5000};
  std::chrono::milliseconds probe_limit{5000};
  std::chrono::milliseconds file_limit{30'000};  // for each file of a checkout
  CircuitOptions circuit{};
};

class Fleet : public std::enable_shared_from_this<Fleet> {
 public:
  // `clock` must outlive it.
  Fleet(const asio::any_io_executor& executor, blueprint::SandboxConfig config,
        const FleetOptions& options, std::shared_ptr<backend::SandboxSource> source,
        std::shared_ptr<MemoryBudget> budget, Clock& clock);

  // Begins to fill itself.
  void start();
  // Right after start(): returns when as many as the blueprint wants are idle; throws what a spawn
  // failed with.
  Task<> filled();

  // Throws CapacityReached, PoolClosed, SpawningFails, or what a spawn failed with.
  Task<Lease> checkout(Binding binding);

  // Serves who waits and spawns what is wanted, as far as there is room.
  void pump();

  // No more leases, and who waits gets an error.
  void refuse();
  // Returns when no lease is out. May be cancelled.
  Task<> all_returned();
  // Ends everything, whoever uses it.
  Task<> close();

  FleetStats stats() const;
  std::vector<std::string> ids() const;  // of all that is alive
  const blueprint::SandboxConfig& config() const { return config_; }

 private:
  friend class Lease;
  using Managed = std::shared_ptr<ManagedSandbox>;

  struct Waiter {
    Waiter(const asio::any_io_executor& executor, const Binding& wanted,
           MemoryBudget::Ticket number)
        : turn(executor, asio::steady_timer::time_point::max()), binding(wanted), ticket(number) {}
    bool is_served() const { return lease.has_value() || failure; }

    asio::steady_timer turn;  // never expires; cancelled when this one is served
    const Binding& binding;
    MemoryBudget::Ticket ticket;
    std::optional<Lease> lease = {};
    std::exception_ptr failure = {};
  };
  class Place;  // of a waiter in the line

  Task<> wait_in_line(Waiter& waiter);
  Task<> apply(Lease& lease);
  void serve_waiters();
  void serve(Waiter& waiter, const Managed& managed, MemoryBudget::Share memory);
  void fail(Waiter& waiter, const std::exception_ptr& failure);
  void fail_all(const std::exception_ptr& failure);
  std::exception_ptr expired(const Waiter& waiter) const;
  std::exception_ptr open_circuit() const;

  std::size_t idle_count() const { return fresh_.size() + used_count_; }
  std::size_t slots_taken() const { return all_.size() + spawning_; }
  std::size_t retiring() const { return all_.size() - idle_count() - leased_ - cleaning_; }
  std::size_t pool_size() const { return static_cast<std::size_t>(config_.pool_size); }
  std::size_t capacity() const { return pool_size() + options_.max_overflow; }
  // True if a sandbox is retired after this use. An owner without a name never comes back.
  bool is_last_use(const Owner& owner, std::uint64_t use_count) const {
    return !owner.is_named() || use_count >= options_.max_uses;
  }
  std::size_t spoken_for() const;
  bool wants_another() const;
  bool waits_for_spawn() const;
  void make_room();
  void drop_surplus();
  void start_spawns();
  Task<> spawn_one();
  void spawn_failed(const std::exception_ptr& failure);
  void spawn_succeeded(std::unique_ptr<backend::Sandbox> sandbox);

  Managed take_idle(const Owner& owner);
  void put_idle(const Managed& managed);
  bool remove_idle(const Managed& managed);
  void delay_replacement();
  void ring_for_replacement();
  void give_back(const Managed& managed);
  std::optional<Retirement> fate_of(const ManagedSandbox& managed) const;
  std::size_t coming_back_for(const Owner& owner) const;
  void begin_cleaning(const Managed& managed);
  void end_cleaning(const Managed& managed);
  void after_cleaning(const Managed& managed, const std::string& problem, Retirement if_problem);
  Task<> clean(Managed managed);
  Task<> attend(Managed managed);
  Task<> probe(Managed managed);
  Task<> sweep_again_and_again();
  void sweep();
  void retire(const Managed& managed, Retirement reason);
  Task<> end(Managed managed);
  void bury(const Managed& managed);

  asio::any_io_executor executor_;
  blueprint::SandboxConfig config_;
  FleetOptions options_;
  std::shared_ptr<backend::SandboxSource> source_;
  std::shared_ptr<MemoryBudget> budget_;
  Clock& clock_;

  std::set<Managed> all_;
  std::deque<Managed> fresh_;                   // idle and never used, newest last
  std::map<Owner, std::vector<Managed>> used_;  // idle, by the owner whose code they ran
  std::size_t used_count_ = 0;
  std::list<Waiter*> waiters_;
  std::size_t spawning_ = 0;
  std::size_t leased_ = 0;
  std::size_t leased_for_good_ = 0;  // of them, those that will not come back
  std::size_t cleaning_ = 0;
  std::map<Owner, std::size_t> cleaning_for_;  // of them, by the owner whose code they ran
  bool head_waits_for_memory_ = false;
  bool is_refusing_ = false;
  bool is_closed_ = false;
  bool is_pumping_ = false;
  bool pump_again_ = false;
  SpawnCircuit circuit_;
  std::exception_ptr last_failure_;
  std::unique_ptr<Clock::Alarm> retry_;
  Clock::Time replace_after_{};
  std::unique_ptr<Clock::Alarm> replacement_alarm_;
  asio::steady_timer changed_;  // never expires; cancelled whenever something did
  FleetStats counts_;           // those that only grow
  TaskGroup background_;
};

}  // namespace hearth::pool
