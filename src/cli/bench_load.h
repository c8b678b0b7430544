// cli/bench_load.h: many clients that use a pool as agents would, and what they saw.
#pragma once

#include "execution/verdict.h"
#include "pool/sandbox_pool.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>

namespace hearth::cli {

struct LoadOptions {
  std::string blueprint{};
  std::string script{};
  std::size_t clients = 8;
  std::uint64_t turns = 1000;                           // of all clients together
  std::optional<std::chrono::milliseconds> duration{};  // then `turns` does not count
  std::chrono::milliseconds think_time{0};              // of each client, between two turns
};

struct LoadResult {
  std::chrono::nanoseconds elapsed{};
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  // got no sandbox
  std::string refusal{};      // why the last of them did not
  std::map<std::string, std::uint64_t> verdicts{};
  pool::LatencyHistogram checkouts{};
  pool::LatencyHistogram turns{};  // from the checkout's begin to the verdict
  pool::FleetStats before{};
  pool::FleetStats after{};

  double per_second() const;
  // Of this load alone.
  std::uint64_t on_path(pool::CheckoutKind path) const;
};

class Load {
 public:
  // `pool` must be started and outlive it.
  Load(pool::SandboxPool& pool, LoadOptions options);

  // Returns when all clients are done.
  Task<> run();
  // They finish the turn they are in.
  void stop() { is_stopped_ = true; }
  LoadResult result() const;

 private:
  Task<> client();
  Task<> one_turn();
  bool is_over() const;
  pool::FleetStats stats() const { return pool_.stats().blueprints.at(options_.blueprint); }

  pool::SandboxPool& pool_;
  LoadOptions options_;
  std::chrono::steady_clock::time_point begun_{};
  std::optional<std::chrono::steady_clock::time_point> ended_{};
  std::uint64_t begun_turns_ = 0;
  bool is_stopped_ = false;
  LoadResult result_;
};

// How many should be kept warm so that a load like this one finds one idle.
struct Recommendation {
  std::int64_t pool_size = 1;
  std::int64_t max_overflow = 0;
  std::string reason{};
};
Recommendation recommend(const LoadResult& result);

}  // namespace hearth::cli
