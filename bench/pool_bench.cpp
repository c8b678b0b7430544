#include "bench/pool_bench.h"

#include "bench/floor.h"
#include "bench/native_bench.h"
#include "builder/find_python.h"
#include "tests/support/native_pool.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace hearth::bench {
namespace {

using BenchClock = std::chrono::steady_clock;
using test::NativePool;
using test::pool_options;

const std::string script = "x = sum(range(10))";

// With the Python that the references run, whatever else PATH may offer.
blueprint::SandboxConfig pool_config(const std::string& name, std::int64_t pool_size) {
  static const builder::Python python = builder::find_python("3", {"/usr/bin"});
  blueprint::SandboxConfig config = test::pool_config(name, pool_size);
  config.python_version = python.version;
  return config;
}

double microseconds_since(BenchClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(BenchClock::now() - begin).count();
}

Task<double> timed_checkout(pool::SandboxPool& pool, std::optional<pool::Lease>& lease) {
  const auto begin = BenchClock::now();
  lease = co_await pool.checkout("default");
  co_return microseconds_since(begin);
}

Task<double> timed_turn(pool::SandboxPool& pool) {
  const auto begin = BenchClock::now();
  {
    pool::Lease lease = co_await pool.checkout("default");
    co_await execution::run_turn(lease, {.script = script});
  }
  co_return microseconds_since(begin);
}

void refill(NativePool& pool, std::size_t idle) {
  pool.run_until([&] {
    const pool::FleetStats stats = pool.stats();
    return stats.idle == idle && stats.live == idle && stats.spawning == 0;
  });
}

void measure_checkout(Report& report) {
  NativePool pool({pool_config("default", 2)}, pool_options(1, 2));
  pool.startup();
  std::vector<double> samples;
  for (int i = 0; i < 300; ++i) {
    std::optional<pool::Lease> lease;
    samples.push_back(pool.run(timed_checkout(*pool.pool, lease)));
    lease.reset();
    refill(pool, 2);
  }
  report.add({"checkout on a warm hit, p50", percentile(samples, 0.5), "us", "", 0, "under 20 us"});
  report.add({"checkout on a warm hit, p99", percentile(samples, 0.99), "us", "", 0, ""});
}

void measure_warm_turn(Report& report) {
  Floor floor;
  NativePool pool({pool_config("default", 2)}, pool_options(1, 2));
  pool.startup();
  std::vector<double> ours;
  std::vector<double> reference;
  for (int i = 0; i < 200; ++i) {
    floor.renew();
    refill(pool, 2);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(30));  // they rehearse while they are idle
    const auto begin = BenchClock::now();
    floor.round_trip(script);
    reference.push_back(microseconds_since(begin));
    ours.push_back(pool.run(timed_turn(*pool.pool)));
  }
  report.add({"turn on a warm hit, with checkout and return, p50", percentile(ours, 0.5), "us",
              "floor p50", percentile(reference, 0.5), "at most 3 times"});
}

// Fresh sandboxes a second, each for one turn, with as many clients.
double rate_of(std::size_t clients, std::size_t turns) {
  NativePool pool({pool_config("default", 8)}, pool_options(1, 8));
  pool.startup();
  std::size_t begun = 0;
  std::size_t done = 0;
  const auto client = [&]() -> Task<> {
    while (begun < turns) {
      ++begun;
      co_await timed_turn(*pool.pool);
      if (++done == turns) pool.loop.stop();
    }
  };
  const auto begin = BenchClock::now();
  for (std::size_t i = 0; i < clients; ++i) asio::co_spawn(pool.loop, client, asio::detached);
  pool.loop.restart();
  pool.loop.run();
  return static_cast<double>(done) / (microseconds_since(begin) / 1e6);
}

double bwrap_rate(std::size_t at_once, std::size_t turns) {
  const auto begin = BenchClock::now();
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < at_once; ++i)
    threads.emplace_back([&] {
      for (std::size_t turn = 0; turn < turns / at_once; ++turn) run_bwrap_python();
    });
  threads.clear();
  return static_cast<double>(turns) / (microseconds_since(begin) / 1e6);
}

void measure_rate(Report& report) {
  double best = 0;
  for (const std::size_t at_once : {1, 2, 4, 8}) best = std::max(best, bwrap_rate(at_once, 80));
  for (const std::size_t clients : {1, 8, 64, 512})
    report.add({"fresh sandboxes per second, " + std::to_string(clients) + " clients",
                rate_of(clients, 1000), "/s", "bwrap python3 -c pass, at its best", best,
                clients == 64 ? "at least 5 times" : ""});
}

// Ten after the other, again and again: what a checkout does, whatever else was done before it.
std::vector<double> checkouts_in_a_row(NativePool& pool) {
  std::vector<double> samples;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::optional<pool::Lease>> leases(10);
    for (auto& lease : leases) samples.push_back(pool.run(timed_checkout(*pool.pool, lease)));
    leases.clear();
    pool.run_until([&] { return pool.stats().cleaning == 0; });
  }
  return samples;
}

// Each when nothing of what it needs is in a cache any more. What a reset leaves there depends on
// how much the kernel had to look at for it.
std::vector<double> cold_checkouts(NativePool& pool) {
  constexpr std::size_t more_than_caches_hold = std::size_t{64} << 20;
  constexpr std::size_t line = 64;
  static std::vector<char> memory(more_than_caches_hold);
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) {
    for (std::size_t at = 0; at < memory.size(); at += line) ++memory[at];
    std::optional<pool::Lease> lease;
    samples.push_back(pool.run(timed_checkout(*pool.pool, lease)));
    lease.reset();
    pool.run_until([&] { return pool.stats().cleaning == 0; });
  }
  return samples;
}

void measure_checkout_in_crowd(Report& report) {
  std::map<std::string, double> with_ten;
  for (const std::int64_t idle : {10, 100, 1000, 4000}) {
    NativePool pool({pool_config("default", idle)}, pool_options(50, 10));
    pool.startup();
    const auto add = [&](const std::string& how, std::vector<double> samples, const char* goal) {
      const double median = percentile(samples, 0.5);
      const double reference = with_ten.emplace(how, median).first->second;
      report.add({"checkout beside " + std::to_string(idle) + " idle sandboxes, " + how + ", p50",
                  median, "us", "beside 10", reference, idle == 10 ? "" : goal});
    };
    add("one of ten in a row", checkouts_in_a_row(pool), "at most 1.5 times");
    add("caches emptied", cold_checkouts(pool), "");
  }
}

std::vector<double> light_turns(bool beside_load) {
  NativePool pool({pool_config("default", 4), pool_config("heavy", 2)}, pool_options(1, 2));
  pool.startup();
  bool over = false;
  std::size_t heavy_clients = 0;
  const auto heavy = [&]() -> Task<> {
    ++heavy_clients;
    while (!over) {
      pool::Lease lease = co_await pool.pool->checkout("heavy");
      co_await execution::run_turn(lease, {.script = script});
    }
    --heavy_clients;
  };
  if (beside_load)
    for (int i = 0; i < 16; ++i) asio::co_spawn(pool.loop, heavy, asio::detached);
  std::vector<double> samples;
  for (int i = 0; i < 300; ++i) {
    samples.push_back(pool.run(timed_turn(*pool.pool)));
    const auto until = BenchClock::now() + std::chrono::milliseconds(20);
    pool.run_until([&] { return BenchClock::now() >= until; });
  }
  over = true;
  pool.run_until([&] { return heavy_clients == 0; });
  return samples;
}

void measure_neighbour(Report& report) {
  std::vector<double> alone = light_turns(false);
  std::vector<double> beside = light_turns(true);
  report.add({"light blueprint while another is saturated, p50", percentile(beside, 0.5), "us",
              "alone, p50", percentile(alone, 0.5), ""});
  report.add({"light blueprint while another is saturated, p99", percentile(beside, 0.99), "us",
              "alone, p99", percentile(alone, 0.99), "less than 2 times"});
}

}  // namespace

void measure_pool(Report& report) {
  measure_checkout(report);
  measure_warm_turn(report);
  measure_rate(report);
  measure_neighbour(report);
  measure_checkout_in_crowd(report);
}

}  // namespace hearth::bench
