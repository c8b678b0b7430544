#include "bench/session_bench.h"

#include "store/session_store.h"
#include "store/sqlite_database.h"
#include "tests/support/native_pool.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::bench {
namespace {

using BenchClock = std::chrono::steady_clock;

double microseconds_since(BenchClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(BenchClock::now() - begin).count();
}

// ---- over real sandboxes

session::CreateRequest request() { return {.owner = "bench", .blueprint = "default"}; }

void measure_live(Report& report) {
  test::NativePool pool({test::pool_config("default", 4)}, test::pool_options(1, 4));
  pool.startup();
  session::SessionManager& sessions = *pool.run(pool.runtime->open_sessions());
  std::vector<double> creates;
  std::vector<double> resumes;
  std::vector<double> turns;
  for (int round = 0; round < 40; ++round) {
    pool.run_until([&] { return pool.stats().idle == 4; });
    auto begin = BenchClock::now();
    const std::string id = pool.run(sessions.create(request())).record.id;
    creates.push_back(microseconds_since(begin) / 1000);
    pool.run(sessions.run(id, "bench", {.script = "x = 1"}));
    for (int again = 0; again < 10; ++again) {
      begin = BenchClock::now();
      pool.run(sessions.resume(id, "bench"));
      resumes.push_back(microseconds_since(begin));
      begin = BenchClock::now();
      pool.run(sessions.run(id, "bench", {.script = "x += 1"}));
      turns.push_back(microseconds_since(begin) / 1000);
    }
    pool.run(sessions.remove(id, "bench"));
  }
  report.add({"session: create with a warm sandbox, p50", percentile(creates, 0.5), "ms", "", 0,
              "one synced record"});
  report.add(
      {"session: warm resume, p50", percentile(resumes, 0.5), "us", "", 0, "at most 1,000 us"});
  report.add({"session: turn in a live one, p50", percentile(turns, 0.5), "ms", "", 0, ""});
}

// ---- from a snapshot

// Half of it compresses.
constexpr const char* make_files = R"py(
import os
size = {} << 20
count = 16
for number in range(count):
    half = size // count // 2
    with open("file%d" % number, "wb") as file:
        file.write(os.urandom(half) + b"some text " * (half // 10))
)py";

double unpack_milliseconds(const std::filesystem::path& archive) {
  const test::TemporaryDirectory place("/dev/shm");
  const std::string command =
      "zstd -dc " + archive.string() + " | tar -x -C " + place.path().string();
  const auto begin = BenchClock::now();
  if (std::system(command.c_str()) != 0)  // NOLINT: a shell is wanted
    throw Error("this failed: " + command);
  return microseconds_since(begin) / 1000;
}

void measure_snapshot(Report& report, std::int64_t megabytes) {
  blueprint::SandboxConfig config = test::pool_config("default", 1);
  config.scratch_size_mb = 2 * megabytes + 16;
  config.resource_limits.memory_mb = 2 * megabytes + 256;  // the workspace is memory
  test::NativePool pool({config}, test::pool_options(1, 1));
  pool.startup();
  session::SessionManager& sessions = *pool.run(pool.runtime->open_sessions());
  const std::string id = pool.run(sessions.create(request())).record.id;
  pool.run(sessions.run(id, "bench", {.script = fmt::format(make_files, megabytes)}));
  pool.run(sessions.pause(id, "bench"));
  std::vector<double> resumes;
  std::vector<double> unpacks;
  for (int round = 0; round < 9; ++round) {
    pool.run_until([&] { return pool.stats().idle == 1; });
    const auto begin = BenchClock::now();
    pool.run(sessions.resume(id, "bench"));
    resumes.push_back(microseconds_since(begin) / 1000);
    pool.run(sessions.pause(id, "bench"));
    unpacks.push_back(
        unpack_milliseconds(pool.state.path() / "sessions/snapshots" / id / "1/workspace.tar.zst"));
  }
  report.add({fmt::format("session: resume from a snapshot of {} MB, p50", megabytes),
              percentile(resumes, 0.5), "ms", "zstd and tar", percentile(unpacks, 0.5),
              "at most 1.5 times"});
}

// ---- the store alone, in memory: no disk is measured

class Rows {
 public:
  explicit Rows(std::int64_t count) : directory_("/dev/shm") {
    auto database = run(store::open_sqlite(directory_.path() / "sessions.db"));
    store_.emplace(loop_.get_executor(), std::move(database));
    run(store_->open());
    for (std::int64_t number = 0; number < count; ++number) run(store_->insert(record(number)));
  }
  ~Rows() { run(store_->close()); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  template <typename T>
  T run(Task<T> task) {
    return test::run_task(loop_, std::move(task));
  }
  store::SessionStore& operator*() { return *store_; }
  static store::SessionRecord record(std::int64_t number) {
    return {.id = fmt::format("ses_{:032x}", number),
            .owner = "bench",
            .blueprint = "default",
            .state = store::SessionState::waiting,
            .created_at = number,
            .last_used_at = number * 7919 % 1'000'003,
            .details = "{}"};
  }

 private:
  test::TemporaryDirectory directory_;
  asio::io_context loop_{1};
  std::optional<store::SessionStore> store_;
};

double eviction_microseconds(Rows& rows) {
  std::vector<double> samples;
  for (int round = 0; round < 1000; ++round) {
    const auto begin = BenchClock::now();
    rows.run((*rows).eviction_candidate());
    samples.push_back(microseconds_since(begin));
  }
  return percentile(samples, 0.5);
}

void measure_store(Report& report) {
  constexpr std::int64_t few = 1'000;
  constexpr std::int64_t many = 100'000;
  Rows small(few);
  const auto begin = BenchClock::now();
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    for (std::int64_t number = 0; number < few; ++number) (*small).mark(Rows::record(number));
    small.run((*small).marked());
  }
  report.add({"session: state marks, each another session",
              static_cast<double>(few) * rounds / (microseconds_since(begin) / 1e6), "/s", "", 0,
              ""});
  const double of_few = eviction_microseconds(small);
  Rows large(many);
  report.add({"session: eviction decision of 100,000, p50", eviction_microseconds(large), "us",
              "of 1,000", of_few, "flat"});
}

}  // namespace

void measure_sessions(Report& report) {
  measure_live(report);
  measure_snapshot(report, 1);
  measure_snapshot(report, 100);
  measure_store(report);
}

}  // namespace hearth::bench
