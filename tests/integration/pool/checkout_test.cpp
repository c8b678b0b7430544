// Handing out real sandboxes: the P rows about startup, checkout and waiting.
#include "tests/support/host_view.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

using namespace hearth;
using namespace hearth::test;
using pool::CheckoutKind;
using pool::Lease;

namespace {

// Live sandboxes of this pool that the kernel knows of.
std::size_t sandboxes_in_kernel(const Lease& any) {
  // A zygote may have twins, and all of them have sandboxes.
  const pid_t zygote = zygote_of(const_cast<Lease&>(any).sandbox());
  return live_sandboxes_below(pid_namespace_of(zygote)).size();
}

}  // namespace

TEST_CASE(
    "P1: a pool of registry and builder keeps P42: the default sandbox warm, P2: as many as "
    "wanted, P4: beside the overflow") {
  NativePool pool({pool_config("default", 3)});
  pool.startup();
  CHECK(pool.stats().idle == 3);
  CHECK(pool.stats().capacity - pool.stats().live == 1);
  Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "print(6 * 7)").stdout_text == "42\n");
}

TEST_CASE("P3: the environment is there before the first sandbox") {
  registry::Tool tool;
  tool.config.name = "doubling";
  tool.config.blueprints = {"default"};
  tool.source = "def twice(x):\n    return 2 * x\n";
  NativePool pool({pool_config()}, pool_options(), {tool});
  pool.startup();
  CHECK_FALSE(std::filesystem::is_empty(pool.state.path() / "environments"));
  Lease lease = pool.checkout();
  CHECK(pool.turn(lease, "print(twice(4))").stdout_text == "8\n");
}

TEST_CASE("P5: a lease ends with its scope, by an exception too, and another takes its place") {
  NativePool pool;
  pool.startup();
  const auto fail_in_the_middle = [&] {
    Lease lease = pool.checkout();
    pool.turn(lease, "x = 1");
    throw Error("in the middle");
  };
  CHECK_THROWS_AS(fail_in_the_middle(), Error);
  pool.run_until([&] { return pool.stats().idle == 2 && pool.stats().live == 2; });
  CHECK(pool.stats().leased == 0);
}

TEST_CASE("P6: as many as pool and overflow hold, P9: the next waits, P10: for a return") {
  NativePool pool({pool_config("default", 2), pool_config("other", 1)}, pool_options(50));
  pool.startup();
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(pool.checkout());
  std::optional<Lease> waiting;
  asio::co_spawn(pool.loop, pool.pool->checkout("default"),
                 [&](const std::exception_ptr& failure, Lease lease) {
                   if (!failure) waiting = std::move(lease);
                 });
  CHECK(pool.run(pool.pool->checkout("other")).kind() == CheckoutKind::warm);
  CHECK(pool.stats().waiting == 1);
  CHECK_FALSE(waiting);
  leases.pop_back();
  pool.run_until([&] { return waiting.has_value(); });
  CHECK(waiting->kind() == CheckoutKind::blocked);
  CHECK(pool.stats().live == 3);
}

TEST_CASE("P10: a retirement frees a place as a return does") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 0));
  pool.startup();
  std::optional<Lease> only = pool.checkout();
  const std::string id = only->sandbox_id();
  std::optional<Lease> waiting;
  asio::co_spawn(pool.loop, pool.pool->checkout("default"),
                 [&](const std::exception_ptr& failure, Lease lease) {
                   if (!failure) waiting = std::move(lease);
                 });
  only->mark_unusable();
  only.reset();
  pool.run_until([&] { return waiting.has_value(); });
  CHECK(waiting->sandbox_id() != id);
}

TEST_CASE("P7: P8: warm without a spawn, overflow with one") {
  NativePool pool({pool_config("default", 2)}, pool_options(50));
  pool.startup();
  const Lease one = pool.checkout();
  const Lease two = pool.checkout();
  CHECK(two.kind() == CheckoutKind::warm);
  CHECK(pool.stats().spawned == 2);
  const Lease three = pool.checkout();
  CHECK(three.kind() == CheckoutKind::overflow);
  CHECK(pool.stats().spawned == 3);
}

TEST_CASE("P11: P35: 500 checkouts at once never have more alive than the capacity") {
  NativePool pool({pool_config("default", 2)}, pool_options(1, 4));
  pool.startup();
  std::size_t done = 0;
  for (int i = 0; i < 500; ++i)
    asio::co_spawn(
        pool.loop,
        [&]() -> Task<> {
          pool::CheckoutOptions options;
          options.patience = std::chrono::minutes(10);
          const Lease lease = co_await pool.pool->checkout("default", options);
          CHECK(pool.stats().live + pool.stats().spawning <= 6);
          if (done % 50 == 0) CHECK(sandboxes_in_kernel(lease) <= 6);
          ++done;
        },
        asio::detached);
  pool.run_until([&] { return done == 500; });
  pool.run_until([&] { return pool.stats().live == 2 && pool.stats().idle == 2; });
  const Lease lease = pool.checkout();
  pool.run_until([&] { return pool.stats().spawning == 0; });
  CHECK(sandboxes_in_kernel(lease) == pool.pool->live_ids().size());
}

TEST_CASE("P12: no more than pool_size stay idle") {
  NativePool pool({pool_config("default", 1)}, pool_options(50, 2));
  pool.startup();
  {
    const std::vector<Lease> leases = [&] {
      std::vector<Lease> made;
      for (int i = 0; i < 3; ++i) made.push_back(pool.checkout());
      return made;
    }();
  }
  pool.run_until([&] { return pool.stats().live == 1 && pool.stats().idle == 1; });
  CHECK(pool.stats().retired[static_cast<std::size_t>(pool::Retirement::surplus)] == 2);
}

TEST_CASE("P30: a sandbox that cannot be made fails its caller, and the place is free again") {
  const TemporaryDirectory place;
  ::chmod(place.path().c_str(), 0755);
  const std::filesystem::path breaking = place.path() / "breaking";
  blueprint::SandboxConfig config = pool_config("default", 0);
  config.resources = {{place.path().string(), "/data", true, {}}};
  registry::Tool tool;
  tool.config.name = "moody";
  tool.config.blueprints = {"default"};
  tool.source = "import os\nif os.path.exists('/data/breaking'): raise RuntimeError('broken')\n";
  runtime::RuntimeOptions options;
  options.fleet.circuit.opens_after = 100;
  NativePool pool({config}, pool_options(1, 2), {tool}, options);
  pool.startup();
  {
    Lease lease = pool.checkout();
    ::kill(zygote_of(lease.sandbox()), SIGKILL);  // the next has to load the tool
  }
  place.write("breaking", "");
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(pool.checkout(), backend::SpawnError);
  std::filesystem::remove(breaking);
  Lease one = pool.checkout();
  Lease two = pool.checkout();
  CHECK(pool.turn(two, "print('well')").stdout_text == "well\n");
  CHECK(pool.stats().live == 2);
}

TEST_CASE("P31: a name that was not started is refused") {
  NativePool pool({pool_config("default", 0), pool_config("other", 0)});
  pool.run(pool.pool->startup({"default"}));
  CHECK_THROWS_AS(pool.run(pool.pool->checkout("nope")), registry::UnknownBlueprint);
  CHECK_THROWS_AS(pool.run(pool.pool->checkout("other")), registry::UnknownBlueprint);
}

TEST_CASE("P38: while one environment loads for long, others are served") {
  registry::Tool slow;
  slow.config.name = "slow";
  slow.config.blueprints = {"slow"};
  slow.source = "import time\ntime.sleep(5)\n";
  NativePool pool({pool_config("default", 1), pool_config("slow", 1)}, pool_options(1, 2), {slow});
  pool.run(pool.pool->startup({"default"}));
  bool is_loaded = false;
  asio::co_spawn(pool.loop, pool.pool->startup({"slow"}),
                 [&](const std::exception_ptr&) { is_loaded = true; });
  for (int i = 0; i < 5; ++i) {
    Lease lease = pool.checkout();
    CHECK(pool.turn(lease, "print(1)").stdout_text == "1\n");
  }
  CHECK_FALSE(is_loaded);
  pool.run_until([&] { return is_loaded; });
  CHECK(pool.stats("slow").idle == 1);
}
