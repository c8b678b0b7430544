#include "cli/bench_load.h"

#include "async/task_group.h"
#include "execution/turn.h"

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

double LoadResult::per_second() const {
  return elapsed.count() > 0 ? static_cast<double>(finished) / seconds(elapsed) : 0;
}

std::uint64_t LoadResult::on_path(pool::CheckoutKind path) const {
  const auto index = static_cast<std::size_t>(path);
  return after.checkouts[index] - before.checkouts[index];
}

Load::Load(pool::SandboxPool& pool, LoadOptions options)
    : pool_(pool), options_(std::move(options)) {}

Task<> Load::run() {
  result_.before = stats();
  begun_ = Clock::now();
  TaskGroup clients(co_await asio::this_coro::executor);
  for (std::size_t i = 0; i < options_.clients; ++i) clients.start("a client", client());
  co_await clients.drained();
  ended_ = Clock::now();
}

bool Load::is_over() const {
  if (is_stopped_) return true;
  if (options_.duration) return Clock::now() - begun_ >= *options_.duration;
  return begun_turns_ >= options_.turns;
}

Task<> Load::client() {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  while (!is_over()) {
    ++begun_turns_;
    co_await one_turn();
    if (options_.think_time.count() == 0) continue;
    pause.expires_after(options_.think_time);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

Task<> Load::one_turn() {
  const Clock::time_point asked = Clock::now();
  pool::Lease lease;
  try {
    pool::CheckoutOptions wanted;
    wanted.owner = "bench";  // of all clients: a sandbox without a named owner has one lease
    lease = co_await pool_.checkout(options_.blueprint, std::move(wanted));
  } catch (const Error& error) {
    ++result_.refused;
    result_.refusal = error.what();
    // A client that is refused often stops: asking again at once would measure nothing.
    is_stopped_ = is_stopped_ || result_.refused > options_.clients * 10;
    co_return;
  }
  result_.checkouts.add(Clock::now() - asked);
  const execution::ExecutionResult turn =
      co_await execution::run_turn(lease, {.script = options_.script});
  result_.turns.add(Clock::now() - asked);
  ++result_.verdicts[std::string(execution::name_of(turn.verdict))];
  ++result_.finished;
}

LoadResult Load::result() const {
  LoadResult result = result_;
  result.after = stats();
  result.elapsed = ended_.value_or(Clock::now()) - begun_;
  return result;
}

Recommendation recommend(const LoadResult& result) {
  // While one is made, as many are asked for as come in that time; the root is a margin for chance.
  const double to_make = seconds(result.after.spawns.percentile(0.9));
  const double missing = result.per_second() * to_make;
  const double hold = result.finished > 0 ? seconds(result.turns.sum() - result.checkouts.sum()) /
                                                static_cast<double>(result.finished)
                                          : 0;
  const double in_use = result.per_second() * hold;
  Recommendation recommendation;
  recommendation.pool_size =
      std::max<std::int64_t>(1, std::lround(std::ceil(missing + 2 * std::sqrt(missing))));
  recommendation.max_overflow =
      std::max<std::int64_t>(1, std::lround(std::ceil(in_use + 2 * std::sqrt(in_use))));
  recommendation.reason =
      fmt::format("{:.0f} turns/s, {:.1f} ms to make a sandbox, {:.1f} ms in use",
                  result.per_second(), to_make * 1e3, hold * 1e3);
  return recommendation;
}

}  // namespace hearth::cli
