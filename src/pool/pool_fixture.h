// pool/pool_fixture.h: a pool over sandboxes in memory, with a clock of its own, for tests.
#pragma once

#include "pool/sandbox_pool.h"
#include "tests/support/failure_kind.h"
#include "tests/support/fake_backend.h"
#include "tests/support/manual_clock.h"
#include "tests/support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::pool {

// A checkout that may still be waiting.
struct Pending {
  std::optional<Lease> lease;
  std::exception_ptr failure;
  bool done = false;
  asio::cancellation_signal cancel;

  template <typename Failure>
  bool failed_with() const {
    return test::is_failure<Failure>(failure);
  }
};

inline PoolOptions small_options(std::uint64_t max_uses = 50) {
  PoolOptions options;
  options.fleet.max_overflow = 1;
  options.max_uses = max_uses;
  options.memory_budget_bytes = std::uint64_t{64} << 30;
  return options;
}

inline CheckoutOptions owned_by(const std::string& owner) {
  CheckoutOptions options;
  options.owner = owner;
  return options;
}

class PoolFixture {
 public:
  explicit PoolFixture(std::int64_t pool_size = 2, PoolOptions options = small_options(),
                       std::vector<std::string> names = {"default"}) {
    for (const std::string& name : names) {
      blueprint::SandboxConfig config;
      config.name = name;
      config.pool_size = pool_size;
      registry.register_blueprint(config);
    }
    pool = std::make_unique<SandboxPool>(loop.get_executor(), registry, backend, std::move(options),
                                         &clock);
  }
  ~PoolFixture() {
    backend.ends_when_killed = true;
    for (FakeSandbox* sandbox : std::vector<FakeSandbox*>(backend.alive)) sandbox->end();
    run(pool->shutdown());
  }
  PoolFixture(const PoolFixture&) = delete;
  PoolFixture& operator=(const PoolFixture&) = delete;

  using FakeSandbox = test::FakeSandbox;

  template <typename T>
  T run(Task<T> task) {
    return test::run_task(loop, std::move(task));
  }
  // Until nothing is left to do but to wait.
  void settle() {
    loop.restart();
    while (loop.poll() > 0) loop.restart();
  }
  void advance(std::chrono::nanoseconds by) {
    clock.advance(by);
    settle();
  }
  void startup() {
    run(pool->startup());
    settle();
  }
  Lease checkout(CheckoutOptions options = owned_by("tests")) {
    return run(pool->checkout("default", std::move(options)));
  }
  std::shared_ptr<Pending> begin_checkout(CheckoutOptions options = owned_by("tests"),
                                          const std::string& name = "default") {
    auto pending = std::make_shared<Pending>();
    asio::co_spawn(loop, pool->checkout(name, std::move(options)),
                   asio::bind_cancellation_slot(pending->cancel.slot(),
                                                [pending](std::exception_ptr failure, Lease lease) {
                                                  pending->failure = std::move(failure);
                                                  if (!pending->failure)
                                                    pending->lease = std::move(lease);
                                                  pending->done = true;
                                                }));
    settle();
    return pending;
  }
  FleetStats stats(const std::string& name = "default") const {
    return pool->stats().blueprints.at(name);
  }
  std::uint64_t retired(Retirement reason) const {
    return stats().retired[static_cast<std::size_t>(reason)];
  }
  FakeSandbox& fake(const Lease& lease) const { return *backend.find(lease.sandbox_id()); }

  asio::io_context loop{1};
  test::ManualClock clock;
  registry::ToolRegistry registry;
  test::FakeBackend backend{loop.get_executor()};
  std::unique_ptr<SandboxPool> pool;
};

}  // namespace hearth::pool
