// Engines that are slow, broken, stopped, killed and paused: every call ends, the pool recovers by
// itself, and nothing is left.
#include "base/log.h"
#include "os/run_program.h"
#include "tests/support/docker_pool.h"
#include "tests/support/engine_proxy.h"
#include "tests/support/source_directory.h"

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <signal.h>

#include <chrono>
#include <cstdlib>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using Mode = EngineProxy::Mode;
using std::chrono::milliseconds;

namespace {

// An engine of this test's own, with which it may do what it likes.
class OwnEngine {
 public:
  OwnEngine() { script("start"); }
  ~OwnEngine() {
    signal(SIGCONT);
    script("stop");
  }

  docker::EngineAddress address() const {
    const std::string line = script("env");
    return docker::parse_engine_address(
        line.substr(line.find('=') + 1, line.size() - line.find('=') - 2));
  }
  void start() { script("start"); }
  void stop() { script("stop"); }
  void kill() { script("kill"); }
  void signal(int number) const {
    ::kill(static_cast<pid_t>(std::stol(os::read_file(place_.path() / "dockerd.pid", 20))), number);
  }

 private:
  std::string script(const std::string& what) const {
    const os::ProgramResult result =
        os::run_program({.program = "/usr/bin/env",
                         .arguments = {"HEARTH_DOCKER_DIR=" + place_.path().string(),
                                       test::source_directory() + "/scripts/docker-engine", what},
                         .timeout = std::chrono::seconds(120)});
    INFO(result.output, result.errors);
    REQUIRE(result.succeeded());
    return result.output;
  }

  TemporaryDirectory place_;
};

// One turn, however often it must be tried; how long that took.
milliseconds until_a_turn_works(DockerPool& pool) {
  const auto begun = std::chrono::steady_clock::now();
  while (true) {
    try {
      pool::Lease lease = pool.checkout({.owner = "load", .patience = milliseconds(1000)});
      if (pool.turn(lease, "print(1)").verdict == Verdict::ok) break;
    } catch (const Error&) {
      pool.run_for(milliseconds(20));
    }
  }
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
}

// Turns without pause, until told to stop: each ends in a verdict or an error.
struct Load {
  explicit Load(DockerPool& of) : pool(of) {}
  ~Load() { finish(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void start(int clients) {
    for (int i = 0; i < clients; ++i) {
      ++running;
      asio::co_spawn(pool.loop, client(), asio::detached);
    }
  }
  void finish() {
    stopped = true;
    pool.run_until([this] { return running == 0; });
  }
  Task<> client() {
    while (!stopped) {
      asio::steady_timer pause(pool.loop, milliseconds(1));
      try {
        pool::Lease lease = co_await pool.pool.checkout(
            "default", {.owner = "load", .patience = milliseconds(500)});
        const auto result = co_await execution::run_turn(lease, {.script = "print('x')"});
        ++(result.verdict == Verdict::ok ? good : lost);
      } catch (const Error&) {
        ++refused;
        pause.expires_after(milliseconds(20));
      }
      co_await pause.async_wait(asio::use_awaitable);
    }
    --running;
  }

  DockerPool& pool;
  bool stopped = false;
  int running = 0;
  int good = 0;
  int lost = 0;
  int refused = 0;
};

settings::Settings settings_of(const docker::EngineAddress& engine) {
  settings::Settings settings;
  settings.docker.host = engine.text();
  return settings;
}

}  // namespace

TEST_CASE("RA-12: a hundred cycles of an engine that delays, truncates, refuses and hangs") {
  log::configure(log::Level::error, log::Format::text);
  const char* named = std::getenv("HEARTH_LOSS_CYCLES");
  const int cycles = named != nullptr ? std::atoi(named) : 100;
  EngineProxy proxy(engine_address());
  std::string owner;
  milliseconds worst{0};
  {
    runtime::RuntimeOptions options;
    options.fleet.circuit.longest_pause = milliseconds(200);  // or most of the time it would wait
    DockerPool pool({docker_config("default", 2)}, settings_of(proxy.address()), options);
    pool.startup();
    owner = pool.owner();
    Load load(pool);
    load.start(3);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const Mode modes[] = {Mode::delay, Mode::truncate, Mode::refuse, Mode::hang};
      proxy.set(modes[cycle % 4]);
      if (cycle % 3 != 0) proxy.cut();
      pool.run_for(milliseconds(100 + 20 * (cycle % 7)));
      proxy.set(Mode::pass);
      // What hangs would for its whole deadline; an engine that comes back has hung up before.
      if (modes[cycle % 4] == Mode::hang) proxy.cut();
      worst = std::max(worst, until_a_turn_works(pool));
    }
    load.finish();
    MESSAGE("turns: ", load.good, " good, ", load.lost, " lost, ", load.refused,
            " refused; longest recovery ", worst.count(), " ms");
    CHECK(load.good > cycles);
    CHECK(load.lost + load.refused > 0);
  }
  CHECK(containers_with(owner).empty());
}

TEST_CASE(
    "an engine that is stopped, killed and paused under load comes back to a pool that works") {
  log::configure(log::Level::error, log::Format::text);
  OwnEngine engine;
  std::string owner;
  {
    DockerPool pool({docker_config("default", 2)}, settings_of(engine.address()));
    pool.startup();
    owner = pool.owner();
    Load load(pool);
    load.start(2);
    pool.run_for(milliseconds(300));
    SUBCASE("stopped") {
      engine.stop();
      pool.run_for(milliseconds(500));
      engine.start();
    }
    SUBCASE("killed") {
      engine.kill();
      pool.run_for(milliseconds(500));
      engine.start();
    }
    SUBCASE("paused") {
      engine.signal(SIGSTOP);
      pool.run_for(milliseconds(2000));
      engine.signal(SIGCONT);
    }
    MESSAGE("recovery ", until_a_turn_works(pool).count(), " ms");
    load.finish();
    CHECK(load.good > 0);
  }
  CHECK(containers_with(owner, engine.address()).empty());
}

TEST_CASE("a pool over an engine that is gone shuts down all the same") {
  log::configure(log::Level::error, log::Format::text);
  EngineProxy proxy(engine_address());
  std::string owner;
  {
    DockerPool pool({docker_config("default", 2)}, settings_of(proxy.address()));
    pool.startup();
    owner = pool.owner();
    proxy.set(Mode::refuse);
    proxy.cut();
    run_task(pool.loop, pool.pool.shutdown());
    // Without their host they end by themselves; the next start removes what is left of them.
    while (true) {
      bool any_runs = false;
      for (const auto& one : containers_with(owner))
        any_runs = any_runs || one.at("State") == boost::json::value("running");
      if (!any_runs) break;
    }
    CHECK(containers_with(owner).size() == 2);
    const auto next =
        run_task(pool.loop, docker::DockerEngine::open(docker_host_options(pool.state.path())));
    // The first still lives, and holds its lock.
    CHECK(containers_with(owner).size() == 2);
  }
  for (const auto& one : containers_with(owner))
    call_engine({.method = "DELETE",
                 .path = "/containers/" + std::string(one.at("Id").as_string()) + "?force=1"});
}

TEST_CASE("calls to an engine that hangs end at their deadline") {
  EngineProxy proxy(engine_address());
  proxy.set(Mode::hang);
  asio::io_context loop(1);
  docker::EngineClient client(proxy.address());
  CHECK_THROWS_WITH_AS(run_task(loop, client.call({.path = "/info", .limit = milliseconds(200)})),
                       "the Docker engine did not answer GET /info within 200 ms",
                       docker::EngineTimeout);
  proxy.set(Mode::truncate);
  CHECK_THROWS_AS(run_task(loop, client.call({.path = "/info"})), docker::EngineUnreachable);
  proxy.set(Mode::pass);
  CHECK(run_task(loop, client.call({.path = "/info"})).status == 200);
}
