// Sessions over real sandboxes that come and go, for as long as one likes: `make soak` takes ten
// thousand of them for five minutes. All records are there from the start, and so each create makes
// another session give way.
#include "os/trusted_path.h"
#include "pool/errors.h"
#include "store/session_store.h"
#include "store/sqlite_database.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <string>

using namespace hearth;
using Steady = std::chrono::steady_clock;

namespace {

constexpr std::size_t least_calls = 200;

struct Load {
  std::size_t sessions = 40;
  std::size_t live = 8;
  std::size_t clients = 4;
  std::chrono::seconds time{8};
};

std::size_t number_in(const char* name, std::size_t usual) {
  const char* given = std::getenv(name);
  return given == nullptr ? usual : std::strtoull(given, nullptr, 10);
}

Load wanted_load() {
  Load load;
  load.sessions = number_in("HEARTH_SOAK_SESSIONS", load.sessions);
  load.live = number_in("HEARTH_SOAK_LIVE", load.live);
  load.clients = number_in("HEARTH_SOAK_CLIENTS", load.clients);
  load.time = std::chrono::seconds(
      number_in("HEARTH_SOAK_SECONDS", static_cast<std::size_t>(load.time.count())));
  return load;
}

// Of this process, without what the allocator could give back.
std::size_t memory_kb() {
  ::malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::size_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  return 0;
}

class Churn {
 public:
  explicit Churn(const Load& load) : load_(load) {
    settings::Settings settings = test::native_settings(state_.path());
    settings.pool = test::pool_options(1, 4);
    settings.blueprints = {config()};
    settings.session.max_sandboxes = static_cast<std::int64_t>(load.sessions);
    settings.session.max_live = static_cast<std::int64_t>(load.live);
    settings.session.snapshots_dir = snapshots_.path() / "private";  // no disk is tested here
    wait_for(fill_store());
    runtime_ = runtime::Runtime::open(loop_.get_executor(), std::move(settings), {}, {});
    wait_for(runtime_->pool().startup());
    sessions_ = wait_for(runtime_->open_sessions());
  }
  ~Churn() { wait_for(runtime_->close()); }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  void run() {
    TaskGroup clients(loop_.get_executor());
    end_ = Steady::now() + load_.time;
    for (std::size_t number = 0; number < load_.clients; ++number)
      clients.start("client", client());
    // What is allocated once is by then.
    run_until(
        [&] { return calls_ > least_calls / 3 && Steady::now() >= end_ - load_.time * 2 / 3; });
    const std::size_t before = memory_kb();
    run_until([&] { return clients.size() == 0; });
    const std::size_t after = memory_kb();
    const session::SessionStats stats = sessions_->stats();
    MESSAGE("calls ", calls_, " failed ", failed_, " gone ", gone_, " memory ", before,
            " kB, then ", after, " kB; ", to_json(stats));
    CHECK(failed_ == 0);
    CHECK(stats.total - stats.warm <= load_.sessions);  // spares are warm, too
    CHECK(stats.total >= load_.sessions / 2);
    CHECK(stats.warming + stats.waiting + stats.running <= load_.live);
    CHECK(after <= before + before / 10 + 8192);
  }

 private:
  static blueprint::SandboxConfig config() {
    blueprint::SandboxConfig config = test::pool_config("default", 2);
    config.resource_limits.memory_mb = 18;  // a thousand fit into a machine
    return config;
  }
  template <typename T>
  T wait_for(Task<T> task) {
    return test::run_task(loop_, std::move(task));
  }
  template <typename Condition>
  void run_until(const Condition& holds) {
    while (!holds()) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
  }
  std::size_t below(std::size_t end) { return random_() % end; }

  // Paused sessions that were never used.
  Task<> fill_store() {
    const std::filesystem::path directory = state_.path() / "sessions";
    os::make_private_directory(directory);
    store::SessionStore store(loop_.get_executor(),
                              co_await store::open_sqlite(directory / "sessions.db"));
    co_await store.open();
    for (std::size_t number = 0; number < load_.sessions; ++number) {
      ids_.push_back(store::new_session_id());
      co_await store.insert({.id = ids_.back(),
                             .owner = "soak",
                             .blueprint = "default",
                             .last_used_at = static_cast<std::int64_t>(number),
                             .details = to_json(session::SessionDetails{})});
    }
    co_await store.close();
  }

  Task<> client() {
    while (Steady::now() < end_ || calls_ < least_calls) {
      try {
        co_await call();
        ++calls_;
      } catch (const session::SessionGone&) {
        ++gone_;
      } catch (const pool::CapacityReached&) {
        ++refused_;
      } catch (const std::exception& error) {
        MESSAGE(error.what());
        ++failed_;
      }
    }
  }
  Task<> call() {
    const std::size_t kind = below(10);
    if (kind < 3) {
      const session::SessionView made =
          co_await sessions_->create({.owner = "soak", .blueprint = "default"});
      // As the oldest one it had replaced, whichever was deleted for it.
      ids_[next_++ % ids_.size()] = made.record.id;
      co_return;
    }
    const std::string id = ids_[below(ids_.size())];
    if (kind == 3) {
      co_await sessions_->remove(id, "soak");
    } else if (kind == 4) {
      co_await sessions_->pause(id, "soak");
    } else {
      const session::RunAnswer answer =
          co_await sessions_->run(id, "soak", {.script = "open('a', 'a').write('x'); x = 1"});
      if (answer.result.verdict != execution::Verdict::ok)
        throw Error("a turn ended with " + std::string(name_of(answer.result.verdict)));
    }
  }

  Load load_;
  test::TemporaryDirectory state_;
  test::TemporaryDirectory snapshots_{"/dev/shm"};
  asio::io_context loop_{1};
  std::unique_ptr<runtime::Runtime> runtime_;
  session::SessionManager* sessions_ = nullptr;
  std::mt19937_64 random_{std::random_device()()};
  std::vector<std::string> ids_;
  std::size_t next_ = 0;
  Steady::time_point end_{};
  std::size_t calls_ = 0;
  std::size_t gone_ = 0;
  std::size_t refused_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace

TEST_CASE("A6: A9: sessions that come and go for long cost no memory, and none of them fails") {
  Churn churn(wanted_load());
  churn.run();
}
