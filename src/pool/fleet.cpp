// The line of callers, and what they get.
#include "pool/fleet.h"

#include "base/log.h"
#include "registry/tool_registry.h"

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace hearth::pool {
namespace {

std::uint64_t memory_bytes_of(const Binding& binding) {
  return static_cast<std::uint64_t>(binding.limits.memory_mb) << 20;
}

// Whether the kernel has to be told of the difference.
bool differ(const blueprint::ResourceLimits& one, const blueprint::ResourceLimits& other) {
  return one.cpu_quota != other.cpu_quota || one.memory_mb != other.memory_mb ||
         one.pids_limit != other.pids_limit;
}

}  // namespace

// Whoever stops waiting, for whatever reason, is in nobody's way.
class Fleet::Place {
 public:
  Place(Fleet& fleet, Waiter& waiter) : fleet_(fleet), waiter_(waiter) {
    fleet_.waiters_.push_back(&waiter_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    const bool was_waiting = fleet_.waiters_.remove(&waiter_) > 0;
    fleet_.budget_->withdraw(waiter_.ticket);
    if (was_waiting) fleet_.pump();
  }

 private:
  Fleet& fleet_;
  Waiter& waiter_;
};

Lease::Lease(std::shared_ptr<Fleet> fleet, std::shared_ptr<ManagedSandbox> sandbox,
             MemoryBudget::Share memory)
    : fleet_(std::move(fleet)), managed_(std::move(sandbox)), memory_(std::move(memory)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(fleet_, other.fleet_);
  std::swap(managed_, other.managed_);
  std::swap(memory_, other.memory_);
  std::swap(binding_, other.binding_);
  std::swap(kind_, other.kind_);
  return *this;
}

Lease::~Lease() {
  if (!fleet_) return;
  managed_->memory = std::move(memory_);
  fleet_->give_back(managed_);
}

Fleet::Fleet(const asio::any_io_executor& executor, blueprint::SandboxConfig config,
             const FleetOptions& options, std::shared_ptr<backend::SandboxSource> source,
             std::shared_ptr<MemoryBudget> budget, Clock& clock)
    : executor_(executor),
      config_(std::move(config)),
      options_(options),
      source_(std::move(source)),
      budget_(std::move(budget)),
      clock_(clock),
      circuit_(options.circuit),
      changed_(executor, asio::steady_timer::time_point::max()),
      background_(executor) {}

Task<Lease> Fleet::checkout(Binding binding) {
  if (is_refusing_) throw PoolClosed("the pool is shut down");
  const std::shared_ptr<Fleet> self = shared_from_this();
  const Clock::Time asked = clock_.now();
  Waiter waiter(executor_, binding, budget_->next_ticket());
  CheckoutKind path = CheckoutKind::warm;
  {
    const Place place(*this, waiter);
    pump();
    if (!waiter.is_served()) {
      const bool is_being_made = !head_waits_for_memory_ && spawning_ >= waiters_.size();
      path = is_being_made ? CheckoutKind::overflow : CheckoutKind::blocked;
      co_await wait_in_line(waiter);
    }
  }
  if (waiter.failure) {
    ++counts_.refused;
    std::rethrow_exception(waiter.failure);
  }
  Lease lease = *std::move(waiter.lease);
  waiter.lease.reset();
  lease.kind_ = path;
  lease.binding_ = std::move(binding);
  ++counts_.checkouts[static_cast<std::size_t>(path)];
  counts_.waits.add(clock_.now() - asked);
  co_await apply(lease);
  co_return lease;
}

Task<> Fleet::wait_in_line(Waiter& waiter) {
  const auto alarm = clock_.ring_at(clock_.now() + waiter.binding.patience, [&] {
    fail(waiter, expired(waiter));
    pump();  // the next may want less
  });
  const auto [error] = co_await waiter.turn.async_wait(asio::as_tuple(asio::use_awaitable));
  // Who was served in the very moment in which he gave up has it.
  if (!waiter.is_served()) throw boost::system::system_error(error);
}

// What this lease alone has. If that fails the sandbox is in a state nobody asked for.
Task<> Fleet::apply(Lease& lease) {
  try {
    if (differ(lease.binding_->limits, config_.resource_limits)) {
      lease.managed_->has_own_limits = true;
      co_await lease.sandbox().set_limits(lease.binding_->limits);
    }
    for (const WorkspaceFile& file : lease.binding_->files)
      co_await lease.sandbox().channel().write_file(file.path, file.content, file.mode,
                                                    options_.file_limit);
  } catch (...) {
    lease.mark_unusable();
    throw;
  }
  // They may be large, and nobody needs them twice.
  lease.binding_->files.clear();
}

void Fleet::pump() {
  if (is_closed_) return;
  // Serving may free what another needs, and that calls this again.
  if (std::exchange(is_pumping_, true)) {
    pump_again_ = true;
    return;
  }
  try {
    do {
      pump_again_ = false;
      serve_waiters();
      make_room();
      start_spawns();
      drop_surplus();
    } while (pump_again_);
  } catch (const std::exception& error) {
    // Not for whoever happened to call, who may be a destructor; whatever changes next tries again.
    log::error("a fleet could not go on", {{"blueprint", config_.name}, {"error", error.what()}});
  }
  is_pumping_ = false;
}

void Fleet::serve_waiters() {
  head_waits_for_memory_ = false;
  while (!waiters_.empty()) {
    Waiter& head = *waiters_.front();
    const Managed managed = take_idle(head.binding.owner);
    if (!managed) {
      budget_->withdraw(head.ticket);  // who has no sandbox keeps no memory from others
      return;
    }
    std::optional<MemoryBudget::Share> memory =
        budget_->try_take(head.ticket, memory_bytes_of(head.binding));
    if (!memory) {
      head_waits_for_memory_ = true;
      put_idle(managed);
      return;
    }
    serve(head, managed, *std::move(memory));
  }
}

void Fleet::serve(Waiter& waiter, const Managed& managed, MemoryBudget::Share memory) {
  waiters_.remove(&waiter);
  managed->state = ManagedSandbox::State::leased;
  managed->owner = waiter.binding.owner;
  ++managed->use_count;
  ++leased_;
  if (is_last_use(*managed->owner, managed->use_count)) ++leased_for_good_;
  waiter.lease.emplace(shared_from_this(), managed, std::move(memory));
  waiter.turn.cancel();
  if (idle_count() > 0) delay_replacement();
}

void Fleet::fail(Waiter& waiter, const std::exception_ptr& failure) {
  if (waiters_.remove(&waiter) == 0) return;
  waiter.failure = failure;
  waiter.turn.cancel();
}

void Fleet::fail_all(const std::exception_ptr& failure) {
  while (!waiters_.empty()) fail(*waiters_.front(), failure);
}

std::exception_ptr Fleet::expired(const Waiter& waiter) const {
  const double seconds = std::chrono::duration<double>(waiter.binding.patience).count();
  std::string why = "all " + std::to_string(capacity()) + " are in use";
  if (slots_taken() < capacity() || spawning_ > 0) why = "none was ready";
  if (head_waits_for_memory_) why = "the memory that may be promised is in use";
  return std::make_exception_ptr(CapacityReached(
      fmt::format("no sandbox of \"{}\" within {} s: {}", config_.name, seconds, why)));
}

Fleet::Managed Fleet::take_idle(const Owner& owner) {
  Managed found;
  // A sandbox that this owner used before has its caches.
  if (const auto used = used_.find(owner); used != used_.end()) {
    found = std::move(used->second.back());
    used->second.pop_back();
    if (used->second.empty()) used_.erase(used);
    --used_count_;
  } else if (!fresh_.empty()) {
    found = std::move(fresh_.back());
    fresh_.pop_back();
  }
  return found;
}

void Fleet::put_idle(const Managed& managed) {
  managed->state = ManagedSandbox::State::idle;
  managed->memory = MemoryBudget::Share();
  if (managed->use_count == 0) {
    fresh_.push_back(managed);
  } else {
    used_[*managed->owner].push_back(managed);
    ++used_count_;
  }
}

bool Fleet::remove_idle(const Managed& managed) {
  if (const auto found = std::find(fresh_.begin(), fresh_.end(), managed); found != fresh_.end()) {
    fresh_.erase(found);
    return true;
  }
  if (!managed->owner) return false;
  const auto used = used_.find(*managed->owner);
  if (used == used_.end() || std::erase(used->second, managed) == 0) return false;
  if (used->second.empty()) used_.erase(used);
  --used_count_;
  return true;
}

FleetStats Fleet::stats() const {
  FleetStats stats = counts_;
  stats.capacity = capacity();
  stats.live = all_.size();
  stats.idle = idle_count();
  stats.leased = leased_;
  stats.cleaning = cleaning_;
  stats.spawning = spawning_;
  stats.waiting = waiters_.size();
  return stats;
}

std::vector<std::string> Fleet::ids() const {
  std::vector<std::string> ids;
  for (const Managed& managed : all_)
    if (!managed->gone) ids.push_back(managed->sandbox->id());
  return ids;
}

}  // namespace hearth::pool
