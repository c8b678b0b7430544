#include "pool/fleet.h"

#include "base/log.h"
#include "base/scope_exit.h"

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace hearth::pool {

using State = ManagedSandbox::State;

namespace {

std::uint64_t memory_bytes_of(const Binding& binding) {
  return static_cast<std::uint64_t>(binding.limits.memory_mb) << 20;
}

std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

// A waiter that stops waiting, for whatever reason, is in no other's way.
class Fleet::Place {
 public:
  Place(Fleet& fleet, Waiter& waiter) : fleet_(fleet), waiter_(waiter) {
    fleet_.line_.join(waiter_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    const bool was_waiting = fleet_.line_.leave(waiter_);
    fleet_.budget_->withdraw(waiter_.ticket);
    if (was_waiting) fleet_.rebalance();
  }

 private:
  Fleet& fleet_;
  Waiter& waiter_;
};

Fleet::Fleet(const asio::any_io_executor& executor, blueprint::SandboxConfig config,
             const FleetOptions& options, std::shared_ptr<backend::SandboxSource> source,
             std::shared_ptr<MemoryBudget> budget, Clock& clock)
    : executor_(executor),
      config_(std::move(config)),
      options_(options),
      source_(std::move(source)),
      budget_(std::move(budget)),
      clock_(clock),
      policy_(options),
      changed_(executor),
      background_(executor) {}

void Fleet::start() {
  background_.start("check idle sandboxes", check_idle_periodically());
  rebalance();
}

Task<> Fleet::filled() {
  co_await changed_.wait_until([this] {
    return idle_.count() >= pool_size() || is_refusing_ || totals_.spawn_failures > 0;
  });
  if (idle_.count() < pool_size() && !is_refusing_) std::rethrow_exception(last_failure_);
}

FleetCounts Fleet::counts() const {
  FleetCounts counts;
  counts.capacity = capacity() + beyond_capacity_;
  counts.pool_size = pool_size();
  counts.live = all_.size();
  counts.idle = idle_.count();
  counts.spawning = spawning_;
  counts.retiring = all_.size() - idle_.count() - leased_count() - cleaning_.count();
  counts.returning = leased_.size() + cleaning_.count();
  counts.waiting = line_.size();
  counts.first_waits_for_memory = first_waits_for_memory_;
  if (!line_.is_empty())
    counts.cleaning_for_first = cleaning_.count_for(line_.first().binding.owner);
  counts.spoken_for = line_.count_among_first(
      spawning_, [this](const Binding& binding) { return is_last_use(binding.owner, 1); });
  return counts;
}

// ---- callers

Task<Lease> Fleet::checkout(Binding binding) {
  if (is_refusing_) throw PoolClosed("the pool is shut down");
  if (binding.beyond_capacity) co_return co_await checkout_beyond(std::move(binding));
  const std::shared_ptr<Fleet> self = shared_from_this();
  const Clock::Time asked = clock_.now();
  Waiter waiter(executor_, binding, budget_->next_ticket());
  CheckoutKind kind = CheckoutKind::warm;
  {
    const Place place(*this, waiter);
    rebalance();  // serves it at once if it can
    if (!waiter.is_served()) {
      const bool is_being_made = !first_waits_for_memory_ && spawning_ >= line_.size();
      kind = is_being_made ? CheckoutKind::overflow : CheckoutKind::blocked;
      co_await wait_in_line(waiter);
    }
  }
  if (waiter.failure) {
    ++totals_.refused;
    std::rethrow_exception(waiter.failure);
  }
  Lease lease = *std::move(waiter.lease);
  waiter.lease.reset();
  co_return co_await prepared(std::move(lease), std::move(binding), kind, asked);
}

Task<Lease> Fleet::prepared(Lease lease, Binding binding, CheckoutKind kind, Clock::Time asked) {
  lease.kind_ = kind;
  lease.binding_ = std::move(binding);
  ++totals_.checkouts[static_cast<std::size_t>(kind)];
  totals_.waits.add(clock_.now() - asked);
  co_await lease.managed_->prepare(*lease.binding_, config_.resource_limits, options_.file_limit);
  lease.binding_->files.clear();  // they may be large, and are needed only once
  co_return lease;
}

bool Fleet::has_memory_for(const Binding& binding) const {
  return budget_->total_bytes() - budget_->taken_bytes() >= memory_bytes_of(binding);
}

Task<Lease> Fleet::checkout_beyond(Binding binding) {
  const std::shared_ptr<Fleet> self = shared_from_this();
  const Clock::Time asked = clock_.now();
  const MemoryBudget::Ticket ticket = budget_->next_ticket();
  std::optional<MemoryBudget::Share> memory = budget_->try_take(ticket, memory_bytes_of(binding));
  if (!memory) {
    budget_->withdraw(ticket);
    ++totals_.refused;
    throw CapacityReached("no sandbox of \"" + config_.name + "\": " + memory_in_words());
  }
  Managed managed = idle_.take(binding.owner);
  const bool is_warm = managed != nullptr;
  if (!managed) managed = co_await spawned_beyond();
  managed->is_beyond_capacity = true;
  if (is_warm) ++beyond_capacity_;
  Lease lease = begin_lease(managed, binding.owner, *std::move(memory));
  if (is_warm) rebalance();  // its place among the idle is free
  const CheckoutKind kind = is_warm ? CheckoutKind::warm : CheckoutKind::overflow;
  co_return co_await prepared(std::move(lease), std::move(binding), kind, asked);
}

struct Fleet::Extra {
  Managed managed = {};
  std::exception_ptr failure = {};
  bool is_done = false;
  bool is_abandoned = false;  // its caller was cancelled
};

Task<Fleet::Managed> Fleet::spawned_beyond() {
  const auto extra = std::make_shared<Extra>();
  ++beyond_capacity_;
  background_.start("spawn a sandbox", spawn_beyond(extra));
  const ScopeExit leave([&extra] { extra->is_abandoned = !extra->is_done; });
  co_await changed_.wait_until([&extra] { return extra->is_done; });
  if (extra->failure) std::rethrow_exception(extra->failure);
  co_return extra->managed;
}

Task<> Fleet::spawn_beyond(std::shared_ptr<Extra> extra) {
  std::unique_ptr<backend::Sandbox> sandbox;
  try {
    co_await asio::post(asio::use_awaitable);  // not in the middle of what started it
    const Clock::Time begun = clock_.now();
    sandbox = co_await source_->spawn();
    totals_.spawns.add(clock_.now() - begun);
    if (is_closed_) throw PoolClosed("the pool is shut down");
    extra->managed = adopt(std::move(sandbox));
    extra->managed->is_beyond_capacity = true;
  } catch (const std::exception&) {
    extra->failure = std::current_exception();
    --beyond_capacity_;
    if (!is_closed_) ++totals_.spawn_failures;
  }
  extra->is_done = true;
  changed_.notify_all();
  if (extra->is_abandoned && extra->managed) retire(extra->managed, Retirement::surplus);
}

Task<> Fleet::wait_in_line(Waiter& waiter) {
  const auto alarm = clock_.ring_at(clock_.now() + waiter.binding.patience, [&] {
    line_.fail(waiter, expired(waiter));
    rebalance();  // the next may want less
  });
  co_await waiter.served.wait_until([&] { return waiter.is_served(); });
}

std::string Fleet::memory_in_words() const {
  return fmt::format(
      "memory_mb = {} does not fit beside the {} MB that are promised of the {} MB for all "
      "sandboxes (pool.memory_budget_mb)",
      config_.resource_limits.memory_mb, budget_->taken_bytes() >> 20,
      budget_->total_bytes() >> 20);
}

std::exception_ptr Fleet::expired(const Waiter& waiter) const {
  const double seconds = std::chrono::duration<double>(waiter.binding.patience).count();
  std::string why = fmt::format("all {} are in use (pool_size = {}, pool.max_overflow = {})",
                                capacity(), pool_size(), options_.max_overflow);
  if (all_.size() < capacity())
    why = fmt::format("{} of {} are there and none was ready", all_.size(), capacity());
  if (first_waits_for_memory_) why = memory_in_words();
  return std::make_exception_ptr(CapacityReached(
      fmt::format("no sandbox of \"{}\" within {} s (pool.checkout_timeout_ms, unless the caller "
                  "asked for another): {}",
                  config_.name, seconds, why)));
}

void Fleet::rebalance() {
  if (is_closed_) return;
  // Serving may free what another needs, and that calls this again.
  if (std::exchange(is_rebalancing_, true)) {
    rebalance_again_ = true;
    return;
  }
  try {
    do {
      rebalance_again_ = false;
      serve_waiters();
      make_room();
      start_spawns();
      drop_surplus();
    } while (rebalance_again_);
  } catch (const std::exception& error) {
    // Not for the caller, which may be a destructor. The next change tries again.
    log::error("fleet was not rebalanced", {{"blueprint", config_.name}, {"error", error.what()}});
  }
  is_rebalancing_ = false;
}

void Fleet::serve_waiters() {
  first_waits_for_memory_ = false;
  while (!line_.is_empty()) {
    const Waiter& first = line_.first();
    const Managed managed = idle_.take(first.binding.owner);
    if (!managed) {
      budget_->withdraw(first.ticket);  // a caller without a sandbox keeps no memory from others
      return;
    }
    std::optional<MemoryBudget::Share> memory =
        budget_->try_take(first.ticket, memory_bytes_of(first.binding));
    if (!memory) {
      first_waits_for_memory_ = true;
      put_idle(managed);
      return;
    }
    lease_to_first(managed, *std::move(memory));
  }
}

void Fleet::lease_to_first(const Managed& managed, MemoryBudget::Share memory) {
  line_.serve_first(begin_lease(managed, line_.first().binding.owner, std::move(memory)));
  if (idle_.count() > 0) delay_replacement();
}

Lease Fleet::begin_lease(const Managed& managed, const Owner& owner, MemoryBudget::Share memory) {
  managed->state = State::leased;
  managed->owner = owner;
  ++managed->use_count;
  leases_with(*managed).insert(managed);
  return {shared_from_this(), managed, std::move(memory)};
}

std::set<Fleet::Managed>& Fleet::leases_with(const ManagedSandbox& managed) {
  return is_last_lease(managed) ? leased_last_ : leased_;
}

void Fleet::give_back(const Managed& managed) {
  leases_with(*managed).erase(managed);
  changed_.notify_all();
  if (is_closed_) return;
  policy_.replace_now();  // its turn is over
  if (const std::optional<Retirement> reason = fate_of(*managed)) {
    retire(managed, *reason);
  } else {
    start_cleaning(managed);
    background_.start("clean a sandbox", clean(managed));
  }
  rebalance();
}

// Nothing: it can be reused.
std::optional<Retirement> Fleet::fate_of(const ManagedSandbox& managed) const {
  if (is_refusing_) return Retirement::shutdown;
  if (managed.gone) return Retirement::crashed;
  if (managed.unusable) return Retirement::lost;
  if (is_last_lease(managed)) return Retirement::used_up;
  if (clock_.now() - managed.born >= options_.max_age) return Retirement::aged;
  if (line_.is_empty() && idle_.count() + cleaning_.count() >= pool_size())
    return Retirement::surplus;
  return std::nullopt;
}

// ---- spawns

// An idle sandbox of another owner is in the way of a caller that needs a new one.
void Fleet::make_room() {
  while (idle_.used_count() > 0 && SpawnPolicy::needs_room(counts()))
    retire(idle_.take_oldest_used(), Retirement::other_owner);
}

void Fleet::start_spawns() {
  while (!is_refusing_ && policy_.wants_another(counts(), clock_.now())) {
    ++spawning_;
    background_.start("spawn a sandbox", spawn_one());
  }
  if (policy_.is_hopeless(counts(), clock_.now())) line_.fail_all(open_circuit());
}

std::exception_ptr Fleet::open_circuit() const {
  const std::string cause = words_of(last_failure_);
  return std::make_exception_ptr(
      SpawningFails(fmt::format("no sandbox of \"{}\" can be made: the last {} attempts failed: {}",
                                config_.name, policy_.circuit().failures(), cause),
                    cause));
}

Task<> Fleet::spawn_one() {
  const Clock::Time begun = clock_.now();
  std::unique_ptr<backend::Sandbox> sandbox;
  std::exception_ptr failure;
  try {
    co_await asio::post(asio::use_awaitable);  // not in the middle of what started it
    sandbox = co_await source_->spawn();
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  --spawning_;
  if (is_closed_) co_return;
  if (failure) {
    spawn_failed(failure);
  } else {
    totals_.spawns.add(clock_.now() - begun);
    spawn_succeeded(std::move(sandbox));
  }
  changed_.notify_all();
  rebalance();
}

void Fleet::spawn_failed(const std::exception_ptr& failure) {
  ++totals_.spawn_failures;
  last_failure_ = failure;
  policy_.spawn_failed(clock_.now());
  log::warning("sandbox spawn failed", {{"blueprint", config_.name},
                                        {"failures", policy_.circuit().failures()},
                                        {"error", words_of(failure)}});
  retry_ = clock_.ring_at(policy_.circuit().next_try(), [this] { rebalance(); });
  if (SpawnPolicy::is_short(counts())) line_.fail(line_.first(), failure);
}

void Fleet::spawn_succeeded(std::unique_ptr<backend::Sandbox> sandbox) {
  policy_.spawn_succeeded();
  put_idle(adopt(std::move(sandbox)));
}

Fleet::Managed Fleet::adopt(std::unique_ptr<backend::Sandbox> sandbox) {
  ++totals_.spawned;
  auto managed = std::make_shared<ManagedSandbox>();
  managed->source = source_;
  managed->sandbox = std::move(sandbox);
  managed->born = managed->checked = clock_.now();
  all_.insert(managed);
  background_.start("watch a sandbox", watch(managed));
  return managed;
}

void Fleet::delay_replacement() {
  policy_.delay_replacement(clock_.now());
  if (!replacement_alarm_) set_replacement_alarm();
}

void Fleet::set_replacement_alarm() {
  replacement_alarm_ = clock_.ring_at(policy_.replace_at(), [this] {
    // Other leases may have begun meanwhile.
    if (clock_.now() < policy_.replace_at()) return set_replacement_alarm();
    replacement_alarm_.reset();
    rebalance();
  });
}

// ---- sandboxes between leases

void Fleet::put_idle(const Managed& managed) {
  managed->state = State::idle;
  managed->memory = MemoryBudget::Share();
  idle_.put(managed);
}

// Also of a sandbox that is probed.
void Fleet::start_cleaning(const Managed& managed) {
  managed->state = State::cleaning;
  cleaning_.put(managed);
}

Task<> Fleet::clean(Managed managed) {
  const std::string problem =
      co_await managed->clean(config_.resource_limits, options_.reset_limit);
  cleaning_ended(managed, problem, Retirement::reset_failed);
}

Task<> Fleet::probe(Managed managed) {
  const std::string problem = co_await managed->probe(options_.probe_limit);
  cleaning_ended(managed, problem, Retirement::probe_failed);
}

void Fleet::cleaning_ended(const Managed& managed, const std::string& problem,
                           Retirement if_problem) {
  cleaning_.remove(managed);
  if (is_closed_) return;
  if (managed->gone) {
    retire(managed, Retirement::crashed);
  } else if (!problem.empty()) {
    log::warning("sandbox is not reused", {{"blueprint", config_.name},
                                           {"sandbox", managed->sandbox->id()},
                                           {"reason", name_of(if_problem)},
                                           {"error", problem}});
    retire(managed, if_problem);
  } else {
    managed->checked = clock_.now();
    put_idle(managed);
  }
  changed_.notify_all();
  rebalance();
}

Task<> Fleet::check_idle_periodically() {
  const auto shortest = std::min<std::chrono::nanoseconds>(options_.max_age, options_.probe_after);
  const auto pause = std::max<std::chrono::nanoseconds>(shortest / 4, std::chrono::seconds(1));
  while (!is_refusing_) {
    co_await clock_.sleep_until(clock_.now() + pause);
    check_idle();
  }
}

void Fleet::check_idle() {
  constexpr std::size_t probes_at_once = 16;
  const Clock::Time now = clock_.now();
  for (const Managed& managed : idle_.all()) {
    if (now - managed->born >= options_.max_age) {
      idle_.remove(managed);
      retire(managed, Retirement::aged);
    } else if (now - managed->checked >= options_.probe_after &&
               cleaning_.count() < probes_at_once) {
      idle_.remove(managed);
      start_cleaning(managed);
      background_.start("probe a sandbox", probe(managed));
    }
  }
  rebalance();
}

// Made for a caller that has stopped waiting.
void Fleet::drop_surplus() {
  while (line_.is_empty() && idle_.count() > pool_size())
    retire(idle_.take_oldest(), Retirement::surplus);
}

// ---- their end

// From its start to its end, however that comes.
Task<> Fleet::watch(Managed managed) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await managed->sandbox->exited();
  managed->gone = true;
  changed_.notify_all();
  if (is_closed_) co_return;
  // The end of the lease or of the cleaning retires it.
  if (managed->state == State::leased || managed->state == State::cleaning) co_return;
  if (managed->state == State::idle) {
    idle_.remove(managed);
    log::warning("idle sandbox exited",
                 {{"blueprint", config_.name}, {"sandbox", managed->sandbox->id()}});
    retire(managed, Retirement::crashed);
  } else {
    remove(managed);
  }
  rebalance();
}

Task<> Fleet::gone(Managed managed) {
  const std::shared_ptr<Fleet> self = shared_from_this();
  co_await changed_.wait_until([&managed] { return managed->gone; });
}

Task<> Lease::ended() const { co_await fleet_->gone(managed_); }

void Fleet::retire(const Managed& managed, Retirement reason) {
  ++totals_.retired[static_cast<std::size_t>(reason)];
  managed->state = State::retiring;
  if (managed->gone) {
    remove(managed);
  } else {
    background_.start("kill a sandbox", kill(managed));
  }
}

// Not in the middle of what retired it, which is most often a turn whose result is on its way to
// its caller: processes that are killed need CPU time to exit.
Task<> Fleet::kill(Managed managed) {
  co_await asio::post(asio::use_awaitable);
  if (managed->sandbox) managed->sandbox->kill();
}

// Its place is free only now: until here its processes were alive.
void Fleet::remove(const Managed& managed) {
  if (all_.erase(managed) > 0 && managed->is_beyond_capacity) --beyond_capacity_;
  managed->sandbox.reset();
  managed->memory = MemoryBudget::Share();
}

void Fleet::refuse() {
  is_refusing_ = true;
  retry_.reset();
  replacement_alarm_.reset();
  line_.fail_all(std::make_exception_ptr(PoolClosed("the pool is shut down")));
  changed_.notify_all();
}

Task<> Fleet::all_returned() {
  co_await changed_.wait_until([this] { return leased_count() == 0; });
}

Task<> Fleet::close() {
  const std::shared_ptr<Fleet> self = shared_from_this();
  refuse();
  if (std::exchange(is_closed_, true)) {
    co_await background_.drained();
    co_return;
  }
  for (const Managed& managed : all_) {
    if (managed->gone) continue;
    if (managed->state != State::retiring)
      ++totals_.retired[static_cast<std::size_t>(Retirement::shutdown)];
    managed->sandbox->kill();
  }
  idle_.clear();
  source_->stop();
  co_await background_.close();
  // A lease that is still held refers to a sandbox that has ended.
  all_.clear();
  co_await source_->close();
}

FleetStats Fleet::stats() const {
  FleetStats stats = totals_;
  stats.capacity = capacity();
  stats.live = all_.size();
  stats.idle = idle_.count();
  stats.leased = leased_count();
  stats.cleaning = cleaning_.count();
  stats.spawning = spawning_;
  stats.waiting = line_.size();
  return stats;
}

std::vector<std::string> Fleet::ids() const {
  std::vector<std::string> ids;
  for (const Managed& managed : all_)
    if (!managed->gone) ids.push_back(managed->sandbox->id());
  return ids;
}

}  // namespace hearth::pool
