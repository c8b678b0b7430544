// Making sandboxes: for those who wait, and ahead of those who will come.
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
namespace {

std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void Fleet::start() {
  background_.start("look after idle sandboxes", sweep_again_and_again());
  pump();
}

Task<> Fleet::filled() {
  while (idle_count() < pool_size() && !is_refusing_) {
    if (counts_.spawn_failures > 0) std::rethrow_exception(last_failure_);
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
    const asio::cancellation_state task = co_await asio::this_coro::cancellation_state;
    if (task.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
  }
}

// Of the sandboxes that are being made, those that a waiter will take and not give back.
std::size_t Fleet::spoken_for() const {
  std::size_t count = 0;
  std::size_t left = spawning_;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end() && left > 0; ++waiter, --left)
    if (is_last_use((*waiter)->binding.owner, 1)) ++count;
  return count;
}

bool Fleet::wants_another() const {
  if (is_refusing_ || slots_taken() >= capacity() || spawning_ >= options_.parallel_spawns)
    return false;
  const bool may_try = circuit_.may_try(clock_.now());
  // One is enough to see whether it works again.
  if (circuit_.is_open()) return may_try && spawning_ == 0;
  if (waits_for_spawn()) return true;
  // Ahead of demand: idle, on their way, or coming back.
  const std::size_t warm =
      idle_count() + cleaning_ + leased_ - leased_for_good_ + spawning_ - spoken_for();
  return may_try && warm < pool_size() && (idle_count() == 0 || clock_.now() >= replace_after_);
}

// Whether somebody is in the line for whom no sandbox is on its way.
bool Fleet::waits_for_spawn() const {
  return !waiters_.empty() && !head_waits_for_memory_ &&
         spawning_ + coming_back_for(waiters_.front()->binding.owner) < waiters_.size();
}

void Fleet::delay_replacement() {
  replace_after_ = clock_.now() + options_.replacement_delay;
  if (!replacement_alarm_) ring_for_replacement();
}

void Fleet::ring_for_replacement() {
  replacement_alarm_ = clock_.ring_at(replace_after_, [this] {
    // Others may have come meanwhile.
    if (clock_.now() < replace_after_) return ring_for_replacement();
    replacement_alarm_.reset();
    pump();
  });
}

// One that waits for another owner stands in the way of one who needs a new one.
void Fleet::make_room() {
  while (!waiters_.empty() && !head_waits_for_memory_ && used_count_ > 0 &&
         slots_taken() >= capacity() &&
         spawning_ + retiring() + coming_back_for(waiters_.front()->binding.owner) <
             waiters_.size()) {
    const Managed idle = used_.begin()->second.front();
    remove_idle(idle);
    retire(idle, Retirement::other_owner);
  }
}

// Made for one who has stopped waiting.
void Fleet::drop_surplus() {
  while (waiters_.empty() && idle_count() > pool_size()) {
    const Managed oldest = fresh_.empty() ? used_.begin()->second.front() : fresh_.front();
    remove_idle(oldest);
    retire(oldest, Retirement::surplus);
  }
}

void Fleet::start_spawns() {
  while (wants_another()) {
    ++spawning_;
    background_.start("make a sandbox", spawn_one());
  }
  const bool is_hopeless = circuit_.is_open() && spawning_ == 0 && !circuit_.may_try(clock_.now());
  if (is_hopeless && waits_for_spawn()) fail_all(open_circuit());
}

std::exception_ptr Fleet::open_circuit() const {
  const std::string cause = words_of(last_failure_);
  return std::make_exception_ptr(
      SpawningFails("no sandbox of \"" + config_.name + "\" can be made: the last " +
                        std::to_string(circuit_.failures()) + " attempts failed: " + cause,
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
    counts_.spawns.add(clock_.now() - begun);
    spawn_succeeded(std::move(sandbox));
  }
  changed_.cancel();
  pump();
}

void Fleet::spawn_failed(const std::exception_ptr& failure) {
  ++counts_.spawn_failures;
  last_failure_ = failure;
  circuit_.failed(clock_.now());
  log::warning("a sandbox could not be made", {{"blueprint", config_.name},
                                               {"failures", circuit_.failures()},
                                               {"error", words_of(failure)}});
  retry_ = clock_.ring_at(circuit_.next_try(), [this] { pump(); });
  if (waits_for_spawn()) fail(*waiters_.front(), failure);
}

void Fleet::spawn_succeeded(std::unique_ptr<backend::Sandbox> sandbox) {
  circuit_.succeeded();
  ++counts_.spawned;
  auto managed = std::make_shared<ManagedSandbox>();
  managed->source = source_;
  managed->sandbox = std::move(sandbox);
  managed->born = managed->checked = clock_.now();
  all_.insert(managed);
  put_idle(managed);
  background_.start("wait for a sandbox's end", attend(managed));
}

}  // namespace hearth::pool
