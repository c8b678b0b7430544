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
#include <string_view>
#include <vector>

namespace hearth::cli {

struct LoadOptions {
  std::string blueprint{};
  std::string script{};
  std::map<std::string, std::string> env{};
  std::size_t clients = 8;
  std::uint64_t turns = 1000;                           // of all clients together
  std::optional<std::chrono::milliseconds> duration{};  // then `turns` does not count
  std::chrono::milliseconds think_time{0};              // of each client, between two turns
};

struct ImportTime {
  std::string module{};
  double seconds = 0;
};

struct LoadResult {
  std::chrono::nanoseconds elapsed{};
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;  // got no sandbox
  std::string refusal{};      // why the last of them did not
  std::uint64_t failed = 0;   // turns that did not end as `ok`
  std::string failure{};      // what the first of them said
  std::size_t clients = 0;
  std::map<std::string, std::uint64_t> verdicts{};
  pool::LatencyHistogram checkouts{};
  pool::LatencyHistogram turns{};  // from the checkout's begin to the verdict
  pool::FleetStats before{};
  pool::FleetStats after{};

  // Of modules that the script imports and the blueprint does not preload, the slowest first.
  std::vector<ImportTime> imports{};

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
  // One more turn, which is not measured: it runs the script with a clock around its imports.
  Task<> time_imports();

 private:
  Task<> client();
  Task<> one_turn();
  pool::CheckoutOptions checkout_options() const;
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
  // Clients waited because sandboxes are not made faster: no number of warm ones changes that.
  bool is_machine_limit = false;
  double spawns_per_second = 0;
  std::int64_t pool_size = 1;
  std::int64_t max_overflow = 0;
  std::string reason{};
};
Recommendation recommend(const LoadResult& result);

// `script` with a clock around its imports; it emits what they took under `import_times_label`.
inline constexpr const char* import_times_label = "hearth bench: seconds of imports";
std::string with_import_clock(const std::string& script);
// From that event's data; none of less than a hundredth of a second.
std::vector<ImportTime> import_times(std::string_view json);

}  // namespace hearth::cli
