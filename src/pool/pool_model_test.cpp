// Ten thousand random operations: what must hold in between, and what must be left at the end.
#include "base/log.h"
#include "pool/pool_fixture.h"

#include <cstdlib>
#include <random>
#include <set>

using namespace hearth;
using namespace hearth::pool;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t pool_size = 3;
constexpr std::size_t max_overflow = 4;
constexpr std::size_t capacity = pool_size + max_overflow;

PoolOptions model_options(std::uint64_t max_uses) {
  PoolOptions options;
  options.fleet.max_overflow = max_overflow;
  options.max_uses = max_uses;
  // Fewer leases than sandboxes fit, so that both kinds of waiting happen.
  options.memory_budget_bytes = std::uint64_t{1536} << 20;
  return options;
}

class Model {
 public:
  Model(std::uint64_t seed, std::uint64_t max_uses)
      : random_(seed), fixture_(pool_size, model_options(max_uses)) {
    fixture_.startup();
  }

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return ask();
      case 4:
      case 5:
      case 6:
        return give_back(false);
      case 7:
        return give_back(true);
      case 8:
        return crash();
      case 9:
        return cancel();
      case 10:
        fixture_.backend.failing = pick(3);
        return;
      case 11:
        fixture_.backend.holds_spawns = pick(2) == 0;
        return fixture_.backend.permit(1);
      case 12:
        return fixture_.backend.permit(pick(3));
      case 13:
        fixture_.backend.ends_when_killed = pick(3) != 0;
        return;
      case 14:
        return end_a_killed_one();
      default:
        return fixture_.clock.advance(std::chrono::milliseconds(pick(3000)));
    }
  }

  void check() {
    fixture_.settle();
    const FleetStats stats = fixture_.stats();
    REQUIRE(fixture_.backend.most_alive <= capacity);
    REQUIRE(stats.live + stats.spawning <= capacity);
    REQUIRE(stats.idle + stats.leased + stats.cleaning <= stats.live);
    std::size_t waiting = 0;
    std::set<std::string> ids;
    for (const auto& pending : pending_) {
      if (!pending->done) ++waiting;
      if (!pending->lease) continue;
      // Each has its own sandbox, and callers that came earlier were served earlier.
      REQUIRE(ids.insert(pending->lease->sandbox_id()).second);
      REQUIRE(waiting == 0);
      const Owner& owner = pending->lease->binding().owner;
      REQUIRE(owners_.emplace(pending->lease->sandbox_id(), owner).first->second == owner);
      if (!owner.is_named()) REQUIRE(pending->lease->use_count() == 1);
    }
    REQUIRE(stats.leased == ids.size());
    REQUIRE(stats.waiting == waiting);
    // No caller waits in vain: something is on its way, or there is no room.
    const bool has_room = stats.live + stats.spawning < capacity;
    const bool has_memory = fixture_.pool->stats().memory_taken_bytes + (256U << 20) <=
                            fixture_.pool->stats().memory_total_bytes;
    if (waiting > 0 && stats.spawning == 0 && has_room) REQUIRE_FALSE(has_memory);
    const std::size_t leaving = stats.live - stats.idle - stats.leased - stats.cleaning;
    if (waiting > 0 && stats.spawning == 0 && leaving == 0 && has_memory) REQUIRE(stats.idle == 0);
    if (waiting == 0) REQUIRE(stats.idle <= pool_size);
    forget_what_is_over();
  }

  void finish() {
    fixture_.backend.failing = 0;
    fixture_.backend.holds_spawns = false;
    fixture_.backend.ends_when_killed = true;
    fixture_.backend.permit(1000);
    while (!pending_.empty()) {
      for (auto* sandbox : std::vector<test::FakeSandbox*>(killed())) sandbox->end();
      give_back(false);
      fixture_.advance(1s);
      forget_what_is_over();
    }
    for (auto* sandbox : killed()) sandbox->end();
    fixture_.advance(60s);
    const FleetStats stats = fixture_.stats();
    REQUIRE(stats.idle == pool_size);
    REQUIRE(stats.live == pool_size);
    REQUIRE(stats.leased == 0);
    REQUIRE(stats.waiting == 0);
    REQUIRE(stats.spawning == 0);
    REQUIRE(fixture_.backend.existing.size() == pool_size);
    REQUIRE(fixture_.pool->stats().memory_taken_bytes == pool_size * (std::size_t{4} << 20));
    fixture_.run(fixture_.pool->shutdown());
    REQUIRE(fixture_.backend.existing.empty());
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }

  void ask() {
    CheckoutOptions options;
    // Of three owners, or of none.
    if (const std::size_t owner = pick(4); owner > 0) options.owner = std::to_string(owner);
    options.patience = std::chrono::milliseconds(1 + pick(20'000));
    pending_.push_back(fixture_.begin_checkout(options));
  }

  void give_back(bool condemned) {
    std::vector<std::shared_ptr<Pending>> leased;
    for (const auto& pending : pending_)
      if (pending->lease) leased.push_back(pending);
    if (leased.empty()) return;
    const auto& one = leased[pick(leased.size())];
    if (condemned) one->lease->mark_unusable();
    one->lease.reset();
  }

  void crash() {
    auto& alive = fixture_.backend.alive;
    if (!alive.empty()) alive[pick(alive.size())]->end();
  }

  void cancel() {
    if (!pending_.empty())
      pending_[pick(pending_.size())]->cancel.emit(asio::cancellation_type::terminal);
  }

  // Alive, but on their way out: not idle, not leased, not being cleaned.
  std::vector<test::FakeSandbox*> killed() const {
    std::vector<test::FakeSandbox*> found;
    for (auto* sandbox : fixture_.backend.alive)
      if (sandbox->was_killed) found.push_back(sandbox);
    return found;
  }
  void end_a_killed_one() {
    const auto dying = killed();
    if (!dying.empty()) dying[pick(dying.size())]->end();
  }

  void forget_what_is_over() {
    std::erase_if(pending_, [](const auto& pending) { return pending->done && !pending->lease; });
  }

  std::mt19937_64 random_;
  PoolFixture fixture_;
  std::vector<std::shared_ptr<Pending>> pending_;  // in the order in which they asked
  std::map<std::string, Owner> owners_;            // by sandbox
};

void run_model(std::uint64_t max_uses) {
  const char* given = std::getenv("HEARTH_MODEL_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  MESSAGE("HEARTH_MODEL_SEED=" << seed);
  CAPTURE(seed);
  log::configure(log::Level::error, log::Format::text);  // it has much to complain about
  Model model(seed, max_uses);
  for (int operation = 0; operation < 10'000; ++operation) {
    CAPTURE(operation);
    model.step();
    model.check();
  }
  model.finish();
}

}  // namespace

TEST_CASE("P10: P11: P35: 10,000 random operations on sandboxes of one use") { run_model(1); }

TEST_CASE("P10: P11: P35: 10,000 random operations on sandboxes that are used again") {
  run_model(5);
}
