// Which caller gets which sandbox, and when. The sandboxes are in memory; tests/integration/pool
// has the same tests with real ones.
#include "pool/pool_fixture.h"

#include <set>

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

namespace {

std::string message_of(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace

TEST_CASE("P2: startup makes as many as the blueprint wants, P4: and the overflow stays free") {
  PoolFixture fixture(3);
  fixture.startup();
  CHECK(fixture.backend.alive.size() == 3);
  const FleetStats stats = fixture.stats();
  CHECK(stats.live == 3);
  CHECK(stats.idle == 3);
  CHECK(stats.capacity == 4);
}

TEST_CASE("P3: startup builds before it spawns, and says how it goes") {
  PoolFixture fixture;
  std::vector<std::string> lines;
  fixture.run(
      fixture.pool->startup({"default"}, [&](const std::string& name, const std::string& line) {
        CHECK(fixture.backend.spawned == 0);
        lines.push_back(name + ": " + line);
      }));
  CHECK(lines == std::vector<std::string>{"default: building default"});
}

TEST_CASE("P19: P20: without a proxy yet, a blueprint that allows hosts is refused at the start") {
  PoolFixture fixture;
  blueprint::SandboxConfig config;
  config.name = "outgoing";
  config.network_policy.allowed_hosts = {"example.org"};
  fixture.registry.register_blueprint(config);
  CHECK_THROWS_WITH_AS(fixture.run(fixture.pool->startup({"outgoing"})),
                       doctest::Contains("network_policy.allowed_hosts has to be empty: there"),
                       blueprint::ConfigError);
  CHECK(fixture.backend.opened.empty());
}

TEST_CASE("P42: startup without names covers every blueprint") {
  PoolFixture fixture(1, small_options(), {"one", "two"});
  fixture.startup();
  CHECK(fixture.backend.opened == std::vector<std::string>{"one", "two"});
  fixture.run(fixture.pool->startup());  // nothing is started twice
  CHECK(fixture.backend.opened.size() == 2);
}

TEST_CASE("a startup that fails leaves nothing started, and another may succeed") {
  PoolFixture fixture(2);
  SUBCASE("because the environment cannot be built") { fixture.backend.build_failure = "pip"; }
  SUBCASE("because no sandbox can be made") { fixture.backend.failing = 1; }
  CHECK_THROWS_AS(fixture.startup(), Error);
  fixture.settle();
  CHECK(fixture.backend.alive.empty());
  CHECK(fixture.pool->stats().blueprints.empty());
  CHECK(fixture.pool->stats().memory_taken_bytes == 0);
  fixture.startup();
  CHECK(fixture.stats().idle == 2);
}

TEST_CASE("P5: a lease is given back at the end of its scope, also by an exception") {
  PoolFixture fixture(1);
  fixture.startup();
  const auto fail_in_the_middle = [&] {
    const Lease lease = fixture.checkout();
    CHECK(fixture.stats().leased == 1);
    throw Error("in the middle");
  };
  CHECK_THROWS_AS(fail_in_the_middle(), Error);
  fixture.settle();
  CHECK(fixture.stats().leased == 0);
  CHECK(fixture.stats().idle == 1);
}

TEST_CASE("P6: never more than pool_size and max_overflow are alive, P11: however many ask") {
  PoolOptions options = small_options();
  options.fleet.max_overflow = 3;
  PoolFixture fixture(2, options);
  fixture.startup();
  std::vector<std::shared_ptr<Pending>> all;
  for (int i = 0; i < 500; ++i) all.push_back(fixture.begin_checkout());
  CHECK(fixture.backend.most_alive == 5);
  CHECK(fixture.stats().leased == 5);
  CHECK(fixture.stats().waiting == 495);
  for (const auto& pending : all) {
    CHECK(pending->lease.has_value());
    pending->lease.reset();
    fixture.settle();
  }
  CHECK(fixture.backend.most_alive == 5);
  CHECK(fixture.stats().idle == 2);
}

TEST_CASE("P7: an idle sandbox is handed over without a spawn") {
  PoolFixture fixture(2);
  fixture.startup();
  const Lease lease = fixture.checkout();
  CHECK(lease.kind() == CheckoutKind::warm);
  fixture.settle();
  CHECK(fixture.backend.spawned == 2);
}

TEST_CASE("single use: another is made before the leased one comes back, but not at once") {
  PoolFixture fixture(2, small_options(1));
  fixture.startup();
  std::optional<Lease> lease = fixture.checkout();
  fixture.settle();
  CHECK(fixture.backend.spawned == 2);  // the turn that begins now has the processors
  SUBCASE("after a moment") { fixture.advance(FleetOptions().replacement_delay); }
  SUBCASE("when it is over") {
    lease.reset();
    fixture.settle();
  }
  CHECK(fixture.backend.spawned == 3);
  CHECK(fixture.stats().idle == 2);
}

TEST_CASE("single use: when the last idle one is taken another is made at once") {
  PoolFixture fixture(1, small_options(1));
  fixture.startup();
  const Lease lease = fixture.checkout();
  fixture.settle();
  CHECK(fixture.backend.spawned == 2);
}

TEST_CASE("P8: when none is idle and there is room, one is made") {
  PoolFixture fixture(2);
  fixture.startup();
  const Lease one = fixture.checkout();
  const Lease two = fixture.checkout();
  const Lease three = fixture.checkout();
  CHECK(three.kind() == CheckoutKind::overflow);
  CHECK(fixture.backend.spawned == 3);
}

TEST_CASE("P9: when there is no room a caller waits, and other sandboxes are still served") {
  PoolFixture fixture(1, small_options(), {"default", "other"});
  fixture.startup();
  const Lease one = fixture.checkout();
  const Lease two = fixture.checkout();
  const auto waiting = fixture.begin_checkout();
  CHECK_FALSE(waiting->done);
  CHECK(fixture.run(fixture.pool->checkout("other")).kind() == CheckoutKind::warm);
}

TEST_CASE("P10: a return and a retirement each wake exactly one, first come first served") {
  PoolFixture fixture(1);
  fixture.startup();
  std::optional<Lease> one = fixture.checkout();
  std::optional<Lease> two = fixture.checkout();
  const auto first = fixture.begin_checkout();
  const auto second = fixture.begin_checkout();
  const auto third = fixture.begin_checkout();
  one.reset();
  fixture.settle();
  CHECK(first->done);
  CHECK_FALSE(second->done);
  two->mark_unusable();
  two.reset();
  fixture.settle();
  CHECK(second->done);
  CHECK(second->lease->kind() == CheckoutKind::blocked);
  CHECK_FALSE(third->done);
}

TEST_CASE("P12: an overflow sandbox is kept only while fewer than pool_size are idle") {
  PoolFixture fixture(1);
  fixture.startup();
  std::optional<Lease> one = fixture.checkout();
  std::optional<Lease> two = fixture.checkout();
  one.reset();
  two.reset();
  fixture.settle();
  CHECK(fixture.stats().idle == 1);
  CHECK(fixture.stats().live == 1);
  CHECK(fixture.retired(Retirement::surplus) == 1);
}

TEST_CASE("P15: P16: a sandbox is used as often as it may, counted, and then replaced") {
  PoolFixture fixture(1, small_options(50));
  fixture.startup();
  std::string first;
  for (std::uint64_t cycle = 1; cycle <= 50; ++cycle) {
    fixture.settle();
    const Lease lease = fixture.checkout();
    if (cycle == 1) first = lease.sandbox_id();
    CHECK(lease.sandbox_id() == first);
    CHECK(lease.use_count() == cycle);
    fixture.settle();
    CHECK(fixture.fake(lease).resets == static_cast<int>(cycle) - 1);
  }
  fixture.settle();
  const Lease next = fixture.checkout();
  CHECK(next.sandbox_id() != first);
  CHECK(next.use_count() == 1);
  CHECK(fixture.retired(Retirement::used_up) == 1);
  CHECK(fixture.backend.find(first) == nullptr);
}

TEST_CASE("a sandbox that one owner used is given to no other") {
  PoolFixture fixture(1);
  fixture.startup();
  std::string of_ann;
  {
    const Lease lease = fixture.checkout(owned_by("ann"));
    of_ann = lease.sandbox_id();
  }
  fixture.settle();
  {
    const Lease lease = fixture.checkout(owned_by("bob"));
    CHECK(lease.sandbox_id() != of_ann);
    CHECK(fixture.checkout(owned_by("ann")).sandbox_id() == of_ann);
  }
  fixture.settle();
  // When there is no room for a new one, the other's has to go.
  const Lease one = fixture.checkout(owned_by("cid"));
  const Lease two = fixture.checkout(owned_by("cid"));
  CHECK(one.use_count() == 1);
  CHECK(two.use_count() == 1);
  CHECK(fixture.backend.most_alive == 2);
}

TEST_CASE("callers that name no owner never share a sandbox, even one after the other") {
  PoolFixture fixture(1);
  fixture.startup();
  std::set<std::string> used;
  for (int i = 0; i < 4; ++i) {
    const Lease lease = fixture.checkout(CheckoutOptions{});
    CHECK(used.insert(lease.sandbox_id()).second);
    CHECK(lease.use_count() == 1);
    fixture.settle();
  }
  fixture.settle();
  CHECK(fixture.retired(Retirement::used_up) == 4);
  // Its replacement is made while it is still out, as it will not come back.
  const Lease lease = fixture.checkout(CheckoutOptions{});
  fixture.advance(std::chrono::seconds(1));
  CHECK(fixture.stats().idle == 1);
}

TEST_CASE("the same options used twice, without an owner, are two owners") {
  PoolFixture fixture(1);
  fixture.startup();
  const CheckoutOptions options;
  const Owner first = fixture.checkout(options).binding().owner;
  fixture.settle();
  CHECK_FALSE(fixture.checkout(options).binding().owner == first);
}

TEST_CASE("P30: a spawn that fails tells its caller and takes no place") {
  PoolFixture fixture(0);
  fixture.startup();
  for (int i = 0; i < 4; ++i) {
    fixture.backend.failing = 1;
    CHECK_THROWS_AS(fixture.checkout(), backend::SpawnError);
    CHECK(fixture.stats().live == 0);
    CHECK(fixture.stats().spawning == 0);
  }
  const Lease lease = fixture.checkout();
  CHECK(fixture.stats().spawn_failures == 4);
}

TEST_CASE("P32: a sandbox that is not ready in time takes no place either") {
  PoolFixture fixture(0);
  fixture.startup();
  fixture.backend.never_ready = 1;
  CHECK_THROWS_AS(fixture.checkout(), backend::ReadyTimeout);
  CHECK(fixture.stats().live == 0);
  CHECK(fixture.backend.existing.empty());
  const Lease lease = fixture.checkout();
}

TEST_CASE("when spawns keep failing no caller waits for one, and the pool recovers by itself") {
  PoolFixture fixture(1);
  fixture.startup();
  std::optional<Lease> lease = fixture.checkout();
  fixture.backend.failing = 1000;
  lease->mark_unusable();
  lease.reset();
  for (int i = 0; i < 20 && fixture.stats().spawn_failures < 5; ++i) fixture.advance(10s);
  REQUIRE(fixture.stats().spawn_failures >= 5);
  const std::uint64_t tried = fixture.stats().spawn_failures;
  try {
    fixture.checkout();
    FAIL("got one");
  } catch (const SpawningFails& error) {
    CHECK(error.cause == "no more room");
  }
  CHECK(fixture.stats().spawn_failures == tried);
  fixture.backend.failing = 0;
  fixture.advance(60s);
  CHECK(fixture.stats().idle == 1);
  CHECK(fixture.checkout().kind() == CheckoutKind::warm);
}

TEST_CASE("spawns ahead of demand pause longer after each failure") {
  PoolFixture fixture(1);
  fixture.startup();
  fixture.backend.failing = 1000;
  fixture.backend.alive.front()->end();
  fixture.settle();
  CHECK(fixture.stats().spawn_failures == 1);
  fixture.advance(99ms);
  CHECK(fixture.stats().spawn_failures == 1);
  fixture.advance(1ms);
  CHECK(fixture.stats().spawn_failures == 2);
  fixture.advance(199ms);
  CHECK(fixture.stats().spawn_failures == 2);
  fixture.advance(1ms);
  CHECK(fixture.stats().spawn_failures == 3);
}

TEST_CASE("P31: a sandbox that was not started cannot be checked out") {
  PoolFixture fixture(1, small_options(), {"default", "other"});
  fixture.run(fixture.pool->startup({"default"}));
  CHECK_THROWS_AS(fixture.run(fixture.pool->checkout("nope")), registry::UnknownBlueprint);
  CHECK_THROWS_AS(fixture.run(fixture.pool->checkout("other")), registry::UnknownBlueprint);
}

TEST_CASE("P34: a sandbox that ended in a lease is not used again, and is replaced") {
  PoolFixture fixture(1);
  fixture.startup();
  std::string id;
  {
    const Lease lease = fixture.checkout();
    id = lease.sandbox_id();
    fixture.fake(lease).end();
    fixture.settle();
    CHECK(lease.sandbox_id() == id);  // a lease may still look at it
  }
  fixture.settle();
  CHECK(fixture.stats().idle == 1);
  CHECK(fixture.checkout().sandbox_id() != id);
  CHECK(fixture.retired(Retirement::crashed) == 1);
}

TEST_CASE("a sandbox that ended while idle is never handed out") {
  PoolFixture fixture(2);
  fixture.startup();
  const std::string id = fixture.backend.alive.back()->id();
  fixture.backend.alive.back()->end();
  fixture.settle();
  CHECK(fixture.stats().idle == 2);
  CHECK(fixture.backend.find(id) == nullptr);
}

TEST_CASE("P44: a sandbox that cannot be cleaned is replaced") {
  PoolFixture fixture(1);
  fixture.startup();
  std::string id;
  {
    const Lease lease = fixture.checkout();
    id = lease.sandbox_id();
    fixture.fake(lease).resets_cleanly = false;
  }
  fixture.settle();
  CHECK(fixture.stats().idle == 1);
  CHECK(fixture.backend.find(id) == nullptr);
  CHECK(fixture.retired(Retirement::reset_failed) == 1);
}

TEST_CASE("P44: a sandbox that was idle for long is probed, and replaced if it is not well") {
  PoolFixture fixture(2);
  fixture.startup();
  fixture.backend.alive.front()->is_ill = true;
  const std::string ill = fixture.backend.alive.front()->id();
  FleetOptions defaults;
  fixture.advance(defaults.probe_after / 2);
  CHECK(fixture.backend.alive.front()->probes == 0);
  fixture.advance(defaults.probe_after);
  CHECK(fixture.backend.find(ill) == nullptr);
  CHECK(fixture.retired(Retirement::probe_failed) == 1);
  CHECK(fixture.stats().idle == 2);
}

TEST_CASE("a sandbox that is too old is replaced, idle or leased") {
  PoolFixture fixture(1);
  fixture.startup();
  FleetOptions defaults;
  const std::string first = fixture.backend.alive.front()->id();
  fixture.advance(defaults.max_age + 1min);
  CHECK(fixture.backend.find(first) == nullptr);
  CHECK(fixture.stats().idle == 1);
  std::optional<Lease> lease = fixture.checkout();
  const std::string second = lease->sandbox_id();
  fixture.advance(defaults.max_age + 1min);
  CHECK(fixture.backend.find(second) != nullptr);  // it is not taken from its lease
  lease.reset();
  fixture.settle();
  CHECK(fixture.backend.find(second) == nullptr);
  CHECK(fixture.retired(Retirement::aged) == 2);
}

TEST_CASE("a caller that waits too long is told what there is none of") {
  PoolFixture fixture(0);
  fixture.startup();
  const Lease one = fixture.checkout();
  CheckoutOptions options;
  options.patience = 5s;
  const auto waiting = fixture.begin_checkout(options);
  fixture.advance(4s);
  CHECK_FALSE(waiting->done);
  fixture.advance(1s);
  CHECK(waiting->failed_with<CapacityReached>());
  CHECK(message_of(waiting->failure) ==
        "no sandbox of \"default\" within 5 s (pool.checkout_timeout_ms, unless the caller asked "
        "for another): all 1 are in use (pool_size = 0, pool.max_overflow = 1)");
  CHECK(fixture.stats().waiting == 0);
  CHECK(fixture.stats().refused == 1);
}

TEST_CASE("a caller that waits too long for memory is told of how much, and of its key") {
  PoolOptions options = small_options();
  options.memory_budget_bytes = std::uint64_t{400} << 20;
  options.fleet.max_overflow = 2;
  PoolFixture fixture(0, std::move(options));
  fixture.startup();
  const Lease one = fixture.checkout();
  CheckoutOptions other = owned_by("others");
  other.patience = 5s;
  const auto waiting = fixture.begin_checkout(other);
  fixture.advance(5s);
  REQUIRE(waiting->failed_with<CapacityReached>());
  CHECK(message_of(waiting->failure) ==
        "no sandbox of \"default\" within 5 s (pool.checkout_timeout_ms, unless the caller asked "
        "for another): memory_mb = 256 does not fit beside the 256 MB that are promised of the 400 "
        "MB for all sandboxes (pool.memory_budget_mb)");
}

TEST_CASE("a caller that stops waiting is in no other's way, and its sandbox goes to the next") {
  PoolFixture fixture(0);
  fixture.startup();
  fixture.backend.holds_spawns = true;
  const auto first = fixture.begin_checkout();
  const auto second = fixture.begin_checkout();
  first->cancel.emit(asio::cancellation_type::terminal);
  fixture.settle();
  CHECK(first->done);
  CHECK_FALSE(first->lease);
  fixture.backend.permit(1);
  fixture.settle();
  REQUIRE(second->lease);
  CHECK(fixture.backend.spawned == 1);
}

TEST_CASE("a place is free only when the processes have ended") {
  PoolFixture fixture(0);
  fixture.startup();
  fixture.backend.ends_when_killed = false;
  std::optional<Lease> one = fixture.checkout();
  one->mark_unusable();
  test::FakeSandbox& dying = fixture.fake(*one);
  one.reset();
  const auto waiting = fixture.begin_checkout();
  CHECK_FALSE(waiting->done);
  CHECK(fixture.stats().live == 1);
  dying.end();
  fixture.settle();
  CHECK(waiting->lease);
  CHECK(fixture.backend.most_alive == 1);
}

TEST_CASE("a startup that is cancelled ends what it has started") {
  PoolFixture fixture(1, small_options(), {"one", "two"});
  fixture.backend.holds_spawns = true;
  asio::cancellation_signal cancel;
  bool ended = false;
  asio::co_spawn(fixture.loop, fixture.pool->startup(),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](const std::exception_ptr&) { ended = true; }));
  fixture.settle();
  fixture.backend.permit(1);
  fixture.settle();
  CHECK_FALSE(ended);
  cancel.emit(asio::cancellation_type::terminal);
  fixture.settle();
  CHECK(ended);
  CHECK(fixture.backend.existing.empty());
  CHECK(fixture.pool->stats().blueprints.empty());
  fixture.backend.holds_spawns = false;
  fixture.startup();
  CHECK(fixture.stats("two").idle == 1);
}

TEST_CASE("tighter limits are set for one lease only") {
  PoolFixture fixture(1);
  fixture.startup();
  CheckoutOptions options = owned_by("tests");
  options.memory_mb = 64;
  options.execution_timeout_sec = 3;
  {
    const Lease lease = fixture.checkout(options);
    CHECK(lease.binding().limits.execution_timeout_sec == 3);
    REQUIRE(fixture.fake(lease).limits.size() == 1);
    CHECK(fixture.fake(lease).limits[0].memory_mb == 64);
  }
  fixture.settle();
  const Lease next = fixture.checkout();
  REQUIRE(fixture.fake(next).limits.size() == 2);
  CHECK(fixture.fake(next).limits[1].memory_mb == 256);
}

TEST_CASE("a sandbox that cannot be limited is not handed out") {
  PoolFixture fixture(1);
  fixture.startup();
  fixture.backend.alive.front()->refuses_limits = true;
  const std::string id = fixture.backend.alive.front()->id();
  CheckoutOptions options;
  options.memory_mb = 64;
  CHECK_THROWS_AS(fixture.checkout(options), Error);
  fixture.settle();
  CHECK(fixture.backend.find(id) == nullptr);
  CHECK(fixture.stats().idle == 1);
}

TEST_CASE("P24: mounts are told as the engine's machine sees them") {
  PoolOptions options = small_options();
  options.host_path_map = {{"/app/data", "/srv/data"}};
  PoolFixture fixture(0, options, {});
  blueprint::SandboxConfig config;
  config.name = "default";
  config.pool_size = 0;
  config.resources = {{"/app/data/in", "/in", true, "/elsewhere"}, {"/other", "/out", false, {}}};
  fixture.registry.register_blueprint(config);
  fixture.startup();
  CHECK(fixture.backend.mounted ==
        std::vector<blueprint::Mount>{{"/srv/data/in", "/in", true, true},
                                      {"/other", "/out", false}});
}

TEST_CASE("a fleet that failed in the middle of its work goes on with it") {
  PoolOptions options = small_options();
  options.fleet.max_overflow = 2;
  PoolFixture fixture(0, options);
  fixture.startup();
  fixture.backend.holds_spawns = true;
  const auto gives_up = fixture.begin_checkout();
  gives_up->cancel.emit(asio::cancellation_type::terminal);
  fixture.settle();
  fixture.backend.immortal = 1;  // the sandbox that was made for it
  fixture.backend.permit(2);
  fixture.settle();
  CHECK(fixture.backend.immortal == 0);
  const auto next = fixture.begin_checkout();
  CHECK(next->lease);
}
