// Memory that is promised to leases and set aside for idle sandboxes, across fleets.
#include "pool/pool_fixture.h"

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

TEST_CASE("memory is not promised twice, and a caller that wants much is not overtaken") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{600} << 20;
  options.fleet.max_overflow = 10;
  PoolFixture fixture(1, options, {"default", "other"});
  fixture.startup();
  std::optional<Lease> one = fixture.checkout();  // 256 MB each
  std::optional<Lease> two = fixture.checkout();
  const auto third = fixture.begin_checkout();
  CHECK_FALSE(third->done);
  CheckoutOptions little;
  little.memory_mb = 16;
  const auto fourth = fixture.begin_checkout(little, "other");
  CHECK_FALSE(fourth->done);
  one.reset();
  fixture.settle();
  CHECK(third->lease);
  CHECK(fourth->lease);
  third->lease.reset();
  fourth->lease.reset();
  two.reset();
  fixture.settle();
  CHECK(fixture.pool->stats().memory_taken_bytes == (8 << 20));  // what is idle
}

TEST_CASE("a caller that waits for memory and gives up lets the next have it") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{400} << 20;
  options.fleet.max_overflow = 10;
  PoolFixture fixture(1, options, {"default", "other"});
  fixture.startup();
  const Lease one = fixture.checkout();
  const auto much = fixture.begin_checkout();
  CheckoutOptions little;
  little.memory_mb = 16;
  const auto next = fixture.begin_checkout(little, "other");
  CHECK_FALSE(next->done);
  much->cancel.emit(asio::cancellation_type::terminal);
  fixture.settle();
  CHECK(next->lease);
}

TEST_CASE("a pool whose idle sandboxes leave no memory to use one does not start") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{300} << 20;
  PoolFixture fixture(20, options);
  CHECK_THROWS_AS(fixture.startup(), blueprint::ConfigError);
  CHECK(fixture.backend.spawned == 0);
  CHECK(fixture.pool->stats().memory_taken_bytes == 0);
}

TEST_CASE("a startup for which the memory does not suffice reserves none") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{600} << 20;
  PoolFixture fixture(1, options);
  fixture.startup();
  blueprint::SandboxConfig large;
  large.name = "large";
  large.pool_size = 500;
  fixture.registry.register_blueprint(large);
  CHECK_THROWS_AS(fixture.startup(), blueprint::ConfigError);
  const Lease lease = fixture.checkout();
}

TEST_CASE("memory that comes free is given to all callers that it suffices for, in every fleet") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{520} << 20;
  PoolFixture fixture(1, options, {"default", "other"});
  fixture.startup();
  CheckoutOptions half;
  half.memory_mb = 255;
  std::vector<Lease> all;
  for (const char* name : {"default", "other"})
    all.push_back(fixture.run(fixture.pool->checkout(name, half)));
  const auto later = fixture.begin_checkout(half, "other");
  const auto latest = fixture.begin_checkout(half, "default");
  CHECK_FALSE(later->done);
  CHECK_FALSE(latest->done);
  all.clear();
  fixture.settle();
  CHECK(later->lease);
  CHECK(latest->lease);
}
