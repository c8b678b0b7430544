#include "pool/spawn_policy.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

namespace {

const Clock::Time start = Clock::Time{} + 1h;

FleetOptions options() {
  FleetOptions options;
  options.parallel_spawns = 2;
  options.replacement_delay = 5ms;
  options.circuit = {.first_pause = 100ms, .longest_pause = 400ms, .opens_after = 2};
  return options;
}

// Two wanted idle, one more on demand, nothing there yet.
FleetCounts empty_fleet() {
  FleetCounts counts;
  counts.capacity = 3;
  counts.pool_size = 2;
  return counts;
}

}  // namespace

TEST_CASE("a fleet is filled up to its pool size, so many at once as may be") {
  const SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  CHECK(policy.wants_another(counts, start));
  counts.spawning = 2;
  CHECK_FALSE(policy.wants_another(counts, start));
  counts.spawning = 0;
  counts.live = counts.idle = 2;
  CHECK_FALSE(policy.wants_another(counts, start));
}

TEST_CASE("sandboxes that will be idle again are not replaced, those that will not are") {
  const SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.live = 2;  // both leased
  counts.returning = 2;
  CHECK_FALSE(policy.wants_another(counts, start));
  counts.returning = 1;
  CHECK(policy.wants_another(counts, start));
  counts.spawning = 1;
  CHECK_FALSE(policy.wants_another(counts, start));
}

TEST_CASE("a sandbox that is made for a caller that keeps it is no warm one") {
  const SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.live = counts.idle = 1;
  counts.spawning = 1;
  CHECK_FALSE(policy.wants_another(counts, start));
  counts.spoken_for = 1;
  CHECK(policy.wants_another(counts, start));
}

TEST_CASE("each waiting caller has a sandbox made, unless one comes back for it") {
  const SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.pool_size = 0;
  counts.waiting = 2;
  CHECK(SpawnPolicy::is_short(counts));
  CHECK(policy.wants_another(counts, start));
  counts.spawning = 1;
  CHECK(SpawnPolicy::is_short(counts));
  counts.cleaning_for_first = 1;
  CHECK_FALSE(SpawnPolicy::is_short(counts));
  CHECK_FALSE(policy.wants_another(counts, start));
}

TEST_CASE("P6: never more than the capacity, however many wait") {
  const SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.waiting = 100;
  counts.live = 2;
  CHECK(policy.wants_another(counts, start));
  counts.spawning = 1;
  CHECK_FALSE(policy.wants_another(counts, start));
}

TEST_CASE("a caller that waits for memory needs no sandbox and no room") {
  FleetCounts counts = empty_fleet();
  counts.live = 3;
  counts.waiting = 1;
  CHECK(SpawnPolicy::needs_room(counts));
  counts.first_waits_for_memory = true;
  CHECK_FALSE(SpawnPolicy::is_short(counts));
  CHECK_FALSE(SpawnPolicy::needs_room(counts));
}

TEST_CASE("room is made only in a full fleet, and only while none is on its way") {
  FleetCounts counts = empty_fleet();
  counts.waiting = 1;
  counts.live = 2;
  CHECK_FALSE(SpawnPolicy::needs_room(counts));
  counts.live = 3;
  CHECK(SpawnPolicy::needs_room(counts));
  counts.retiring = 1;
  CHECK_FALSE(SpawnPolicy::needs_room(counts));
}

TEST_CASE("a replacement waits for its delay while others are idle") {
  SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.live = 2;
  counts.idle = 1;
  policy.delay_replacement(start);
  CHECK_FALSE(policy.wants_another(counts, start));
  CHECK(policy.wants_another(counts, policy.replace_at()));
  counts.idle = 0;
  CHECK(policy.wants_another(counts, start));
  counts.idle = 1;
  policy.replace_now();
  CHECK(policy.wants_another(counts, start));
}

TEST_CASE("after a failure callers still get a spawn, and spawns ahead of demand pause") {
  SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  policy.spawn_failed(start);
  CHECK_FALSE(policy.wants_another(counts, start));
  CHECK(policy.wants_another(counts, start + 100ms));
  counts.waiting = 1;
  CHECK(policy.wants_another(counts, start));
}

TEST_CASE("when spawns keep failing it is hopeless to wait until the next attempt") {
  SpawnPolicy policy(options());
  FleetCounts counts = empty_fleet();
  counts.waiting = 1;
  policy.spawn_failed(start);
  CHECK_FALSE(policy.is_hopeless(counts, start));
  policy.spawn_failed(start);
  CHECK(policy.is_hopeless(counts, start));
  CHECK_FALSE(policy.wants_another(counts, start));
  const Clock::Time next = policy.circuit().next_try();
  CHECK_FALSE(policy.is_hopeless(counts, next));
  CHECK(policy.wants_another(counts, next));
  counts.spawning = 1;  // one attempt is enough
  CHECK_FALSE(policy.wants_another(counts, next));
  policy.spawn_succeeded();
  counts.waiting = 2;
  CHECK(policy.wants_another(counts, start));
}
