#include "cli/bench_load.h"

#include "async/task_group.h"
#include "base/json_escape.h"
#include "execution/turn.h"

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>

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
  result_.after = stats();
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
    lease = co_await pool_.checkout(options_.blueprint, checkout_options());
  } catch (const Error& error) {
    ++result_.refused;
    result_.refusal = error.what();
    // A client that is refused often stops: asking again at once would measure nothing.
    is_stopped_ = is_stopped_ || result_.refused > options_.clients * 10;
    co_return;
  }
  result_.checkouts.add(Clock::now() - asked);
  const execution::ExecutionResult turn =
      co_await execution::run_turn(lease, {.script = options_.script, .language = "python"});
  result_.turns.add(Clock::now() - asked);
  ++result_.verdicts[std::string(execution::name_of(turn.verdict))];
  ++result_.finished;
  if (turn.verdict == execution::Verdict::ok) co_return;
  if (result_.failed++ > 0) co_return;
  result_.failure = turn.error ? turn.error->traceback : turn.stderr_text;
  if (result_.failure.empty()) result_.failure = turn.detail;
}

pool::CheckoutOptions Load::checkout_options() const {
  pool::CheckoutOptions wanted;
  wanted.owner = "bench";  // of all clients: a sandbox without a named owner has one lease
  wanted.env = options_.env;
  return wanted;
}

Task<> Load::time_imports() {
  if (result_.finished == 0 || result_.failed > 0) co_return;
  pool::Lease lease = co_await pool_.checkout(options_.blueprint, checkout_options());
  const execution::ExecutionResult turn = co_await execution::run_turn(
      lease, {.script = with_import_clock(options_.script), .language = "python"});
  for (const wire::Intermediate& one : turn.intermediates)
    if (one.label == import_times_label) result_.imports = import_times(one.data.text);
}

LoadResult Load::result() const {
  LoadResult result = result_;
  if (!ended_) result.after = stats();
  result.clients = options_.clients;
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
  recommendation.spawns_per_second =
      result.elapsed.count() > 0
          ? static_cast<double>(result.after.spawned - result.before.spawned) /
                seconds(result.elapsed)
          : 0;
  // With more places than clients, or than are in use and being made, none waits for a place.
  constexpr double most_spawns_at_once = 4;
  const double enough =
      std::min(static_cast<double>(result.clients), std::ceil(in_use) + most_spawns_at_once);
  const bool often_blocked =
      result.on_path(pool::CheckoutKind::blocked) + result.on_path(pool::CheckoutKind::overflow) >
      result.finished / 5;
  recommendation.is_machine_limit =
      often_blocked && static_cast<double>(result.after.capacity) >= enough &&
      recommendation.spawns_per_second > result.per_second() / 2 &&
      static_cast<double>(result.before.idle) >= std::min(enough, missing);
  recommendation.pool_size =
      std::max<std::int64_t>(1, std::lround(std::ceil(missing + 2 * std::sqrt(missing))));
  recommendation.max_overflow =
      std::max<std::int64_t>(1, std::lround(std::ceil(in_use + 2 * std::sqrt(in_use))));
  recommendation.reason =
      fmt::format("{:.0f} turns/s, {:.1f} ms to make a sandbox, {:.1f} ms in use",
                  result.per_second(), to_make * 1e3, hold * 1e3);
  return recommendation;
}

std::string with_import_clock(const std::string& script) {
  // Only the imports of the script itself count, each with all that it brings along.
  constexpr const char* clock = R"(def _hearth_time_imports(source):
    import builtins, sys, time
    real, times, depth = builtins.__import__, {}, [0]
    def timed(name, *rest, **options):
        if depth[0] or name in sys.modules:
            return real(name, *rest, **options)
        depth[0] += 1
        begin = time.perf_counter()
        try:
            return real(name, *rest, **options)
        finally:
            depth[0] -= 1
            times[name] = times.get(name, 0) + time.perf_counter() - begin
    emit, label = emit_intermediate, LABEL
    builtins.__import__ = timed
    try:
        exec(compile(source, "/workspace/script.py", "exec"), globals())
    finally:
        builtins.__import__ = real
        emit(label, times)
_hearth_time_imports(SOURCE)
)";
  std::string text = clock;
  const auto put = [&](std::string_view word, std::string_view value) {
    std::string quoted;  // a JSON string is one of Python's, too
    append_json_string(quoted, value);
    text.replace(text.find(word), word.size(), quoted);
  };
  put("LABEL", import_times_label);
  put("SOURCE", script);
  return text;
}

std::vector<ImportTime> import_times(std::string_view json) {
  constexpr double shortest = 0.01;
  std::vector<ImportTime> times;
  boost::system::error_code failed;
  const boost::json::value tree = boost::json::parse(json, failed);
  const boost::json::object* object = tree.if_object();  // a script can emit anything
  if (failed || object == nullptr) return times;
  for (const auto& member : *object)
    if (const double* took = member.value().if_double(); took != nullptr && *took >= shortest)
      times.push_back({std::string(member.key()), *took});
  std::sort(times.begin(), times.end(),
            [](const auto& left, const auto& right) { return left.seconds > right.seconds; });
  if (times.size() > 5) times.resize(5);
  return times;
}

}  // namespace hearth::cli
