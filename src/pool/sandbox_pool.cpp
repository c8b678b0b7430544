#include "pool/sandbox_pool.h"

#include "async/within.h"
#include "base/log.h"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace hearth::pool {
namespace {

Task<> wait_for_leases(std::vector<std::shared_ptr<Fleet>> fleets) {
  for (const std::shared_ptr<Fleet>& fleet : fleets) co_await fleet->all_returned();
}

// Until there is a proxy nothing leads out. Better refused than a script that waits for an answer.
void refuse_allowed_hosts(const blueprint::SandboxConfig& config) {
  if (blueprint::is_isolated(config)) return;
  throw blueprint::ConfigError(
      "blueprint " + blueprint::in_quotes(config.name),
      {{"network_policy.allowed_hosts", "has to be empty: there is no way out of a sandbox yet"}});
}

std::uint64_t megabytes(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace

SandboxPool::SandboxPool(const asio::any_io_executor& executor,
                         const registry::ToolRegistry& registry, backend::Backend& backend,
                         PoolOptions options, Clock* clock)
    : executor_(executor),
      registry_(registry),
      backend_(backend),
      options_(std::move(options)),
      host_paths_(options_.host_path_map),
      own_clock_(executor),
      clock_(clock != nullptr ? *clock : own_clock_),
      budget_(std::make_shared<MemoryBudget>(options_.memory_budget_bytes.value_or(
          default_memory_budget_bytes(backend.memory_limit_bytes())))),
      shutting_down_(executor),
      ending_(executor) {
  budget_->on_freed([this] {
    for (const auto& [name, entry] : fleets_) entry.fleet->rebalance();
  });
}

SandboxPool::~SandboxPool() { budget_->on_freed({}); }

Task<> SandboxPool::startup(std::vector<std::string> names, OnProgress on_progress) {
  const Mutex::Lock one_at_a_time = co_await starting_.lock();
  if (is_shut_down_) throw PoolClosed("the pool is shut down");
  names = not_started(std::move(names));
  const std::size_t shares_before = idle_memory_.size();
  std::map<std::string, Entry> started;
  std::exception_ptr failure;
  try {
    reserve_memory_for(names);
    for (const std::string& name : names) co_await start_one(name, on_progress, started);
    for (const auto& [name, entry] : started) co_await entry.fleet->filled();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  // Cancelled or not: what was started has to be ended.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  for (const auto& [name, entry] : started) {
    co_await entry.fleet->close();
    fleets_.erase(name);
  }
  idle_memory_.resize(shares_before);
  std::rethrow_exception(failure);
}

std::vector<std::string> SandboxPool::not_started(std::vector<std::string> names) const {
  if (names.empty()) names = registry_.blueprint_names();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) registry_.blueprint(name);  // throws if it is unknown
  std::erase_if(names, [this](const std::string& name) { return fleets_.contains(name); });
  return names;
}

// For all that will be idle, so that no number of them can leave too little for one that is used.
void SandboxPool::reserve_memory_for(const std::vector<std::string>& names) {
  std::uint64_t largest = 0;
  for (const std::string& name : registry_.blueprint_names()) {
    const bool counts =
        fleets_.contains(name) || std::find(names.begin(), names.end(), name) != names.end();
    const auto bytes =
        static_cast<std::uint64_t>(registry_.blueprint(name).resource_limits.memory_mb) << 20;
    if (counts) largest = std::max(largest, bytes);
  }
  blueprint::Problems problems;
  for (const std::string& name : names) {
    const auto idle = static_cast<std::uint64_t>(registry_.blueprint(name).pool_size);
    const MemoryBudget::Ticket ticket = budget_->next_ticket();
    auto share = budget_->try_take(ticket, idle * options_.idle_memory_bytes);
    const bool fits = share.has_value();
    if (fits) idle_memory_.push_back(*std::move(share));
    if (!fits) budget_->withdraw(ticket);  // no caller waits for it
    if (fits && budget_->total_bytes() - budget_->taken_bytes() >= largest) continue;
    problems.push_back(
        {blueprint::member_of("blueprint", name) + ".pool_size",
         fmt::format("is {}: idle ones of {} MB each (pool.idle_memory_mb) would leave less than "
                     "the {} MB that one may use (memory_mb) of the {} MB for all "
                     "(pool.memory_budget_mb)",
                     idle, megabytes(options_.idle_memory_bytes), megabytes(largest),
                     megabytes(budget_->total_bytes()))});
  }
  if (!problems.empty()) throw blueprint::ConfigError("the pool", std::move(problems));
}

Task<> SandboxPool::start_one(std::string name, OnProgress on_progress,
                              std::map<std::string, Entry>& started) {
  refuse_allowed_hosts(registry_.blueprint(name));
  Entry entry;
  entry.secrets = resolve_secrets(registry_.secret_names_of(name), options_.secrets,
                                  options_.find_secret, options_.place_of_secret);
  std::shared_ptr<backend::SandboxSource> source;
  std::exception_ptr failure;
  try {
    // It may take minutes, and more if what is loaded hangs.
    co_await until(shutting_down_, open_source(name, std::move(on_progress), source));
  } catch (...) {
    failure = std::current_exception();
  }
  if (is_shut_down_) {  // meanwhile
    if (source) co_await source->close();
    throw PoolClosed("the pool is shut down");
  }
  if (failure) std::rethrow_exception(failure);
  entry.fleet = std::make_shared<Fleet>(executor_, registry_.blueprint(name), fleet_options(),
                                        std::move(source), budget_, clock_);
  started.emplace(name, entry);
  fleets_.emplace(name, entry);
  entry.fleet->start();
}

Task<> SandboxPool::open_source(std::string name, OnProgress on_progress,
                                std::shared_ptr<backend::SandboxSource>& source) {
  backend::Backend::OnProgress on_line;
  if (on_progress) on_line = [&](const std::string& line) { on_progress(name, line); };
  source = co_await backend_.open(name, mounts_of(name), on_line);
}

FleetOptions SandboxPool::fleet_options() const {
  FleetOptions options = options_.fleet;
  options.max_uses = options_.max_uses.value_or(backend_.usual_max_uses());
  options.parallel_spawns = backend_.parallel_spawns();
  return options;
}

std::vector<blueprint::Mount> SandboxPool::mounts_of(const std::string& sandbox) const {
  std::vector<blueprint::Mount> mounts;
  for (const blueprint::FileResource& resource : registry_.blueprint(sandbox).resources)
    mounts.push_back(blueprint::mount_of(resource, host_paths_.resolve(resource.host_path)));
  return mounts;
}

Task<Lease> SandboxPool::checkout(std::string name, CheckoutOptions options) {
  if (is_shut_down_) throw PoolClosed("the pool is shut down");
  const Entry& entry = started(name);
  const std::shared_ptr<Fleet> fleet = entry.fleet;
  if (!options.patience) options.patience = options_.checkout_timeout;
  co_return co_await fleet->checkout(bind(fleet->config(), entry.secrets, std::move(options)));
}

const SandboxPool::Entry& SandboxPool::started(const std::string& name) const {
  const auto found = fleets_.find(name);
  if (found != fleets_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, entry] : fleets_) known.push_back(other);
  throw registry::UnknownBlueprint(name, std::move(known));
}

void SandboxPool::check(const std::string& name, CheckoutOptions options) const {
  bind(started(name).fleet->config(), {}, std::move(options));
}

bool SandboxPool::has_memory_for(const std::string& name, CheckoutOptions options) const {
  const std::shared_ptr<Fleet>& fleet = started(name).fleet;
  return fleet->has_memory_for(bind(fleet->config(), {}, std::move(options)));
}

std::size_t SandboxPool::idle_count() const {
  std::size_t count = 0;
  for (const auto& [name, entry] : fleets_) count += entry.fleet->idle_count();
  return count;
}

Task<> SandboxPool::shutdown(std::chrono::milliseconds drain) {
  std::vector<std::shared_ptr<Fleet>> fleets;
  for (const auto& [name, entry] : fleets_) fleets.push_back(entry.fleet);
  for (const std::shared_ptr<Fleet>& fleet : fleets) fleet->refuse();
  const bool is_first = !std::exchange(is_shut_down_, true);
  shutting_down_.notify_all();
  if (is_first && drain.count() > 0) {
    try {
      co_await within(drain, wait_for_leases(fleets));
    } catch (const DeadlineExceeded&) {
      log::info("leases were not returned in time and are ended", {});
    }
  }
  // What is being started notices, and ends itself.
  const Mutex::Lock nothing_starts = co_await starting_.lock();
  // At the same time: each waits for its last process.
  for (const std::shared_ptr<Fleet>& fleet : fleets) ending_.start("end a fleet", fleet->close());
  co_await ending_.drained();
}

PoolStats SandboxPool::stats() const {
  PoolStats stats;
  for (const auto& [name, entry] : fleets_) stats.blueprints.emplace(name, entry.fleet->stats());
  stats.memory_total_bytes = budget_->total_bytes();
  stats.memory_taken_bytes = budget_->taken_bytes();
  return stats;
}

std::vector<std::string> SandboxPool::live_ids() const {
  std::vector<std::string> ids;
  for (const auto& [name, entry] : fleets_)
    for (std::string& id : entry.fleet->ids()) ids.push_back(std::move(id));
  return ids;
}

}  // namespace hearth::pool
