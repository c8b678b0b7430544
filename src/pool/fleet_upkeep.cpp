// What happens to a sandbox after a lease, while it is idle, and in the end.
#include "async/within.h"
#include "base/log.h"
#include "pool/fleet.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace hearth::pool {

using State = ManagedSandbox::State;

void Fleet::give_back(const Managed& managed) {
  --leased_;
  if (is_last_use(*managed->owner, managed->use_count)) --leased_for_good_;
  changed_.cancel();
  if (is_closed_) return;
  replace_after_ = {};  // its turn is over
  if (const std::optional<Retirement> reason = fate_of(*managed)) {
    retire(managed, *reason);
  } else {
    begin_cleaning(managed);
    background_.start("clean a sandbox", clean(managed));
  }
  pump();
}

// Nothing: it may be used again.
std::optional<Retirement> Fleet::fate_of(const ManagedSandbox& managed) const {
  if (is_refusing_) return Retirement::shutdown;
  if (managed.gone) return Retirement::crashed;
  if (managed.unusable) return Retirement::lost;
  if (is_last_use(*managed.owner, managed.use_count)) return Retirement::used_up;
  if (clock_.now() - managed.born >= options_.max_age) return Retirement::aged;
  if (waiters_.empty() && idle_count() + cleaning_ >= pool_size()) return Retirement::surplus;
  return std::nullopt;
}

// Also of those that are probed, who have run nobody's code and may go to anybody.
void Fleet::begin_cleaning(const Managed& managed) {
  managed->state = State::cleaning;
  ++cleaning_;
  if (managed->use_count > 0) ++cleaning_for_[*managed->owner];
}

void Fleet::end_cleaning(const Managed& managed) {
  --cleaning_;
  if (managed->use_count == 0) return;
  const auto found = cleaning_for_.find(*managed->owner);
  if (--found->second == 0) cleaning_for_.erase(found);
}

std::size_t Fleet::coming_back_for(const Owner& owner) const {
  std::size_t others = 0;
  for (const auto& [name, count] : cleaning_for_)
    if (name != owner) others += count;
  return cleaning_ - others;
}

Task<> Fleet::clean(Managed managed) {
  std::string problem;
  try {
    if (std::exchange(managed->has_own_limits, false))
      co_await managed->sandbox->set_limits(config_.resource_limits);
    const wire::ResetDone done = co_await managed->sandbox->channel().reset(options_.reset_limit);
    if (!done.clean) problem = done.message.empty() ? "not clean" : done.message;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  after_cleaning(managed, problem, Retirement::reset_failed);
}

void Fleet::after_cleaning(const Managed& managed, const std::string& problem,
                           Retirement if_problem) {
  end_cleaning(managed);
  if (is_closed_) return;
  if (managed->gone) {
    retire(managed, Retirement::crashed);
  } else if (!problem.empty()) {
    log::warning(
        "a sandbox is not as it should be",
        {{"sandbox", managed->sandbox->id()}, {"found", name_of(if_problem)}, {"error", problem}});
    retire(managed, if_problem);
  } else {
    managed->checked = clock_.now();
    put_idle(managed);
  }
  changed_.cancel();
  pump();
}

// From its start to its end, however that comes.
Task<> Fleet::attend(Managed managed) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await managed->sandbox->exited();
  managed->gone = true;
  changed_.cancel();
  if (is_closed_) co_return;
  // Whoever has it in hand will notice.
  if (managed->state == State::leased || managed->state == State::cleaning) co_return;
  if (managed->state == State::idle) {
    remove_idle(managed);
    log::warning("an idle sandbox ended by itself", {{"sandbox", managed->sandbox->id()}});
    retire(managed, Retirement::crashed);
  } else {
    bury(managed);
  }
  pump();
}

void Fleet::retire(const Managed& managed, Retirement reason) {
  ++counts_.retired[static_cast<std::size_t>(reason)];
  managed->state = State::retiring;
  if (managed->gone) {
    bury(managed);
  } else {
    background_.start("end a sandbox", end(managed));
  }
}

// Not in the middle of what retired it, most often a turn whose result is on its way to somebody:
// what is killed may take the processor for its end.
Task<> Fleet::end(Managed managed) {
  co_await asio::post(asio::use_awaitable);
  if (managed->sandbox) managed->sandbox->kill();
}

// Its place is free only now: until here its processes were alive.
void Fleet::bury(const Managed& managed) {
  all_.erase(managed);
  managed->sandbox.reset();
  managed->memory = MemoryBudget::Share();
}

Task<> Fleet::sweep_again_and_again() {
  const auto shortest = std::min<std::chrono::nanoseconds>(options_.max_age, options_.probe_after);
  const auto pause = std::max<std::chrono::nanoseconds>(shortest / 4, std::chrono::seconds(1));
  while (!is_refusing_) {
    co_await clock_.sleep_until(clock_.now() + pause);
    sweep();
  }
}

void Fleet::sweep() {
  constexpr std::size_t probes_at_once = 16;
  std::vector<Managed> idle(fresh_.begin(), fresh_.end());
  for (const auto& [owner, used] : used_) idle.insert(idle.end(), used.begin(), used.end());
  const Clock::Time now = clock_.now();
  for (const Managed& managed : idle) {
    if (now - managed->born >= options_.max_age) {
      remove_idle(managed);
      retire(managed, Retirement::aged);
    } else if (now - managed->checked >= options_.probe_after && cleaning_ < probes_at_once) {
      remove_idle(managed);
      begin_cleaning(managed);
      background_.start("probe a sandbox", probe(managed));
    }
  }
  pump();
}

Task<> Fleet::probe(Managed managed) {
  std::string problem;
  try {
    co_await within(options_.probe_limit, managed->sandbox->probe());
  } catch (const std::exception& error) {
    problem = error.what();
  }
  after_cleaning(managed, problem, Retirement::probe_failed);
}

void Fleet::refuse() {
  is_refusing_ = true;
  retry_.reset();
  replacement_alarm_.reset();
  fail_all(std::make_exception_ptr(PoolClosed("the pool is shut down")));
  changed_.cancel();
}

Task<> Fleet::all_returned() {
  while (leased_ > 0) {
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }
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
      ++counts_.retired[static_cast<std::size_t>(Retirement::shutdown)];
    managed->sandbox->kill();
  }
  fresh_.clear();
  used_.clear();
  used_count_ = 0;
  source_->stop();
  co_await background_.close();
  // Who has a lease holds the shell of a sandbox that has ended.
  all_.clear();
  co_await source_->close();
}

}  // namespace hearth::pool
