#include "runtime/pool_options.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace std::chrono_literals;
using runtime::find_secret;
using runtime::pool_options;

TEST_CASE("every key of [pool] reaches the pool") {
  settings::Settings settings;
  settings.pool = {.max_overflow = 3,
                   .max_uses = 7,
                   .checkout_timeout_ms = 5,
                   .memory_budget_mb = 1024,
                   .idle_memory_mb = 8,
                   .max_age_sec = 60,
                   .probe_after_sec = 9,
                   .replacement_delay_ms = 2};
  settings.host_path_map = {{"/data", "/srv"}};
  const pool::PoolOptions options = pool_options(settings, {});
  CHECK(options.fleet.max_overflow == 3);
  CHECK(options.max_uses == 7);
  CHECK(options.checkout_timeout == 5ms);
  CHECK(options.memory_budget_bytes == std::uint64_t{1024} << 20);
  CHECK(options.idle_memory_bytes == std::uint64_t{8} << 20);
  CHECK(options.fleet.max_age == 60s);
  CHECK(options.fleet.probe_after == 9s);
  CHECK(options.fleet.replacement_delay == 2ms);
  CHECK(options.host_path_map == settings.host_path_map);
}

TEST_CASE("P15: what the settings leave open is the backend's and the machine's to say") {
  const pool::PoolOptions options = pool_options({}, {});
  CHECK_FALSE(options.max_uses);
  CHECK_FALSE(options.memory_budget_bytes);
  // The defaults of the settings are those of the pool.
  const pool::PoolOptions own;
  CHECK(options.checkout_timeout == own.checkout_timeout);
  CHECK(options.idle_memory_bytes == own.idle_memory_bytes);
  CHECK(options.fleet.max_overflow == own.fleet.max_overflow);
  CHECK(options.fleet.max_age == own.fleet.max_age);
  CHECK(options.fleet.probe_after == own.fleet.probe_after);
  CHECK(options.fleet.replacement_delay == own.fleet.replacement_delay);
}

TEST_CASE("P17: a secret is in the map, else at its source, else the variable of its name") {
  const test::TemporaryDirectory folder;
  folder.write("password", "from the file\n");
  settings::Settings settings;
  settings.secrets = {{"IN_FILE", {.file = folder.path() / "password"}},
                      {"RENAMED", {.env = "OTHER"}},
                      {"UNSET", {.env = "NOWHERE"}}};
  const settings::Env env = {{"PLAIN", "plain"}, {"OTHER", "renamed"}, {"UNSET", "not this"}};
  CHECK(find_secret(settings, env, "PLAIN") == Secret("plain"));
  CHECK(find_secret(settings, env, "RENAMED") == Secret("renamed"));
  CHECK(find_secret(settings, env, "IN_FILE") == Secret("from the file"));
  CHECK_FALSE(find_secret(settings, env, "UNSET"));
  CHECK_FALSE(find_secret(settings, env, "NEITHER"));
  CHECK(runtime::place_of_secret(settings, "UNSET") ==
        "the environment variable NOWHERE, as [secrets] says");
  CHECK(runtime::place_of_secret(settings, "NEITHER") == "the environment variable NEITHER");

  const pool::PoolOptions options =
      pool_options(settings, env, {{"PLAIN", Secret("from the map")}});
  CHECK(options.secrets.at("PLAIN") == Secret("from the map"));
  CHECK(options.find_secret("RENAMED") == Secret("renamed"));
}

TEST_CASE("a secret whose file is missing is named, and only when it is wanted") {
  settings::Settings settings;
  settings.secrets = {{"GONE", {.file = "/nowhere/at/all"}}};
  const pool::PoolOptions options = pool_options(settings, {});
  CHECK_THROWS_WITH_AS(options.find_secret("GONE"), doctest::Contains("the secret GONE: "), Error);
}
