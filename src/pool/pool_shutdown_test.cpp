// The end of a pool, whatever it is in the middle of.
#include "pool/pool_fixture.h"

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

namespace {

// Whether it has come to its end when nothing is left to do but to wait.
bool ends(PoolFixture& fixture, Task<> task) {
  const auto ended = std::make_shared<bool>(false);
  asio::co_spawn(fixture.loop, std::move(task),
                 [ended](const std::exception_ptr&) { *ended = true; });
  fixture.settle();
  return *ended;
}

}  // namespace

TEST_CASE("P36: shutdown ends all, the leased and the half made too, and may be repeated") {
  PoolFixture fixture(2);
  fixture.startup();
  Lease leased = fixture.checkout();
  fixture.backend.holds_spawns = true;
  const Lease second = fixture.checkout();
  const auto making = fixture.begin_checkout();
  CHECK(fixture.stats().spawning == 1);
  fixture.run(fixture.pool->shutdown());
  CHECK(fixture.backend.alive.empty());
  CHECK(fixture.backend.spawning == 0);
  CHECK(fixture.backend.closed == 1);
  fixture.settle();
  CHECK(making->failed_with<PoolClosed>());
  fixture.run(fixture.pool->shutdown());
  CHECK(fixture.backend.closed == 1);
}

TEST_CASE("shutdown waits for leases as long as it was told to, and no longer") {
  PoolFixture fixture(1);
  fixture.startup();
  std::optional<Lease> lease = fixture.checkout();
  bool ended = false;
  asio::co_spawn(fixture.loop, fixture.pool->shutdown(1h),
                 [&](const std::exception_ptr&) { ended = true; });
  fixture.settle();
  CHECK_FALSE(ended);
  CHECK(fixture.backend.alive.size() == 1);
  lease.reset();
  fixture.settle();
  CHECK(ended);
  CHECK(fixture.backend.alive.empty());
}

TEST_CASE("P37: after shutdown no caller gets a sandbox, and those that wait are told") {
  PoolFixture fixture(0);
  fixture.startup();
  const Lease one = fixture.checkout();
  const auto waiting = fixture.begin_checkout();
  CHECK_FALSE(waiting->done);
  fixture.run(fixture.pool->shutdown());
  fixture.settle();
  CHECK(waiting->failed_with<PoolClosed>());
  CHECK_THROWS_AS(fixture.checkout(), PoolClosed);
  CHECK_THROWS_AS(fixture.run(fixture.pool->startup()), PoolClosed);
}

TEST_CASE("shutdown ends spawns that hang where nothing can be cancelled") {
  PoolFixture fixture(1);
  fixture.startup();
  const Lease lease = fixture.checkout();
  fixture.backend.hangs_in_spawn = true;
  const auto waiting = fixture.begin_checkout();
  CHECK(fixture.backend.spawning == 1);
  CHECK(ends(fixture, fixture.pool->shutdown()));
  CHECK(fixture.backend.spawning == 0);
}

TEST_CASE("shutdown does not wait for an environment to be built or loaded") {
  PoolFixture fixture(1);
  fixture.backend.holds_opens = true;
  std::exception_ptr failure;
  asio::co_spawn(fixture.loop, fixture.pool->startup(),
                 [&](const std::exception_ptr& thrown) { failure = thrown; });
  fixture.settle();
  CHECK_FALSE(failure);
  CHECK(ends(fixture, fixture.pool->shutdown()));
  REQUIRE(failure);
  CHECK_THROWS_AS(std::rethrow_exception(failure), PoolClosed);
}
