// Leases that do not count against a fleet's capacity, as sessions have them.
#include "pool/pool_fixture.h"

#include <optional>

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

namespace {

Lease beyond(PoolFixture& fixture) {
  CheckoutOptions options;
  options.beyond_capacity = true;
  return fixture.run(fixture.pool->checkout("default", std::move(options)));
}

PoolOptions options_of(std::size_t overflow, std::uint64_t budget_mb) {
  PoolOptions options = small_options();
  options.fleet.max_overflow = overflow;
  options.memory_budget_bytes = budget_mb << 20;
  return options;
}

}  // namespace

TEST_CASE(
    "a lease beyond the capacity takes an idle sandbox, whose place is filled, or makes one") {
  PoolFixture fixture(1, options_of(0, 4096));
  fixture.startup();
  CHECK(fixture.pool->idle_count() == 1);
  std::optional<Lease> first = beyond(fixture);
  CHECK(first->kind() == CheckoutKind::warm);
  fixture.settle();
  CHECK(fixture.pool->idle_count() == 1);
  std::optional<Lease> usual = fixture.checkout();
  const Lease second = beyond(fixture);
  CHECK(second.kind() == CheckoutKind::overflow);
  CHECK(fixture.backend.alive.size() == 3);

  // The capacity of all others is as it was: a second usual lease has to wait.
  auto waiting = fixture.begin_checkout();
  first.reset();
  fixture.settle();
  CHECK_FALSE(waiting->done);
  CHECK(fixture.backend.alive.size() == 2);
  usual.reset();
  fixture.settle();
  CHECK(waiting->done);
}

TEST_CASE("a lease beyond the capacity counts against the memory budget, and never waits for it") {
  PoolFixture fixture(0, options_of(1, 600));
  fixture.startup();
  std::optional<Lease> first = beyond(fixture);  // 256 MB each
  const Lease second = beyond(fixture);
  CHECK_FALSE(fixture.pool->has_memory_for("default", {}));
  CHECK_THROWS_WITH_AS(beyond(fixture), doctest::Contains("pool.memory_budget_mb"),
                       CapacityReached);
  first.reset();
  fixture.settle();
  CHECK(fixture.pool->has_memory_for("default", {}));
  const Lease third = beyond(fixture);
  CHECK(fixture.backend.alive.size() == 2);
}

TEST_CASE("a sandbox of a lease beyond the capacity is used once, also by a named owner") {
  PoolFixture fixture(0, options_of(1, 4096));
  fixture.startup();
  CheckoutOptions options;
  options.owner = "ann";
  options.beyond_capacity = true;
  std::optional<Lease> lease = fixture.run(fixture.pool->checkout("default", std::move(options)));
  CHECK_FALSE(lease->is_over());
  lease->sandbox().kill();
  fixture.run(lease->ended());
  CHECK(lease->is_over());
  lease.reset();
  fixture.settle();
  CHECK(fixture.backend.alive.empty());
  CHECK(fixture.stats().live == 0);
}

TEST_CASE("a spawn beyond the capacity that fails tells its caller and leaves nothing") {
  PoolFixture fixture(0, options_of(1, 4096));
  fixture.startup();
  fixture.backend.failing = 1;
  CHECK_THROWS_AS(beyond(fixture), backend::SpawnError);
  CHECK(fixture.pool->stats().memory_taken_bytes == 0);
  const Lease lease = beyond(fixture);
  CHECK(fixture.stats().live == 1);
}
