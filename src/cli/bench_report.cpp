#include "cli/bench_report.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <array>
#include <utility>

namespace hearth::cli {
namespace {

namespace json = boost::json;
using pool::CheckoutKind;
using pool::LatencyHistogram;

constexpr std::array<std::pair<const char*, double>, 5> shares{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}}};
constexpr std::array paths{CheckoutKind::warm, CheckoutKind::overflow, CheckoutKind::blocked};

std::string readable(std::chrono::nanoseconds duration) {
  const auto nanoseconds = static_cast<double>(duration.count());
  if (nanoseconds < 1e6) return fmt::format("{:.0f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.1f} ms", nanoseconds / 1e6);
  return fmt::format("{:.2f} s", nanoseconds / 1e9);
}

std::string row(const char* name, const LatencyHistogram& histogram) {
  std::string line = fmt::format("  {:<12}", name);
  for (const auto& [label, share] : shares)
    line += fmt::format("{:>11}", readable(histogram.percentile(share)));
  return line + '\n';
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string advice_on_pool(const Recommendation& advice) {
  if (advice.is_machine_limit)
    return fmt::format(
        "\nThe machine is the limit: it makes {:.0f} sandboxes/s, and the clients want more. No "
        "pool size helps;\nfewer clients, pauses between their turns (--think), more cores or a "
        "higher max_uses do. ({})\n",
        advice.spawns_per_second, advice.reason);
  return fmt::format("\nFor this load: pool_size = {}, max_overflow = {} ({})\n", advice.pool_size,
                     advice.max_overflow, advice.reason);
}

std::string advice_on_imports(const std::vector<ImportTime>& imports) {
  if (imports.empty()) return {};
  double all = 0;
  std::string names;
  for (const ImportTime& one : imports) {
    all += one.seconds;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", one.module);
  }
  return fmt::format(
      "\nOf each turn {:.2f} s are imports: preload = [{}] in its [[blueprint]] makes them once\n",
      all, names);
}

// Decimals as people write them: Boost.JSON prints 3.67E3.
std::string on_one_line(const json::value& value) {
  if (const double* number = value.if_double()) return fmt::format("{:.3f}", *number);
  std::string text;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object)
      text += (text.empty() ? "" : ",") + json::serialize(member.key()) + ':' +
              on_one_line(member.value());
    return '{' + text + '}';
  }
  return json::serialize(value);
}

json::object object_of(const LatencyHistogram& histogram) {
  json::object object;
  for (const auto& [label, share] : shares)
    object[label] = static_cast<double>(histogram.percentile(share).count()) / 1e3;
  object["count"] = histogram.count();
  return object;
}

}  // namespace

std::string bench_table(const LoadResult& result) {
  std::string text = fmt::format("{} turns in {}: {:.1f} turns/s\n\n  {:<12}", result.finished,
                                 readable(result.elapsed), result.per_second(), "");
  for (const auto& [label, share] : shares) text += fmt::format("{:>11}", label);
  text += '\n' + row("checkout", result.checkouts) + row("whole turn", result.turns) +
          row("spawn", result.after.spawns) + '\n';
  text += "  checkouts ";
  for (const CheckoutKind path : paths)
    text += fmt::format("  {} {:.1f}%", pool::name_of(path),
                        percent(result.on_path(path), result.finished));
  text += "\n  verdicts  ";
  for (const auto& [name, count] : result.verdicts) text += fmt::format("  {} {}", name, count);
  text += fmt::format("\n  sandboxes   made {} before the first turn and {} since, failed {}\n",
                      result.before.spawned, result.after.spawned - result.before.spawned,
                      result.after.spawn_failures - result.before.spawn_failures);
  if (result.refused > 0)
    text += fmt::format("  refused     {} ({})\n", result.refused, result.refusal);
  if (result.failed > 0)
    text +=
        fmt::format("\n{} of {} turns failed; the first said:\n{}{}", result.failed,
                    result.finished, result.failure, result.failure.ends_with('\n') ? "" : "\n");
  return text + advice_on_imports(result.imports) + advice_on_pool(recommend(result));
}

std::string bench_json(const LoadResult& result) {
  json::object object;
  object["turns"] = result.finished;
  object["refused"] = result.refused;
  object["seconds"] = std::chrono::duration<double>(result.elapsed).count();
  object["turns_per_second"] = result.per_second();
  object["checkout_us"] = object_of(result.checkouts);
  object["turn_us"] = object_of(result.turns);
  object["spawn_us"] = object_of(result.after.spawns);
  json::object& by_path = object["checkouts"].emplace_object();
  for (const CheckoutKind path : paths) by_path[pool::name_of(path)] = result.on_path(path);
  json::object& verdicts = object["verdicts"].emplace_object();
  for (const auto& [name, count] : result.verdicts) verdicts[name] = count;
  object["spawned_before"] = result.before.spawned;
  object["spawned"] = result.after.spawned - result.before.spawned;
  object["spawn_failures"] = result.after.spawn_failures - result.before.spawn_failures;
  json::object& retired = object["retired"].emplace_object();
  for (std::size_t i = 0; i < pool::retirements; ++i)
    if (result.after.retired[i] > result.before.retired[i])
      retired[pool::name_of(static_cast<pool::Retirement>(i))] =
          result.after.retired[i] - result.before.retired[i];
  const Recommendation advice = recommend(result);
  object["failed"] = result.failed;
  if (result.failed > 0) object["failure"] = result.failure;
  object["machine_limit"] = advice.is_machine_limit;
  object["recommended"] = {{"pool_size", advice.pool_size}, {"max_overflow", advice.max_overflow}};
  json::object& imports = object["import_seconds"].emplace_object();
  for (const ImportTime& one : result.imports) imports[one.module] = one.seconds;
  return on_one_line(object) + '\n';
}

std::string bench_progress(const LoadResult& so_far) {
  return fmt::format("{} turns, {:.0f}/s, p50 {}, p99 {}, idle {}, in use {}, waiting {}",
                     so_far.finished, so_far.per_second(), readable(so_far.turns.percentile(0.5)),
                     readable(so_far.turns.percentile(0.99)), so_far.after.idle,
                     so_far.after.leased, so_far.after.waiting);
}

}  // namespace hearth::cli
