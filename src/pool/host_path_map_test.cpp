#include "pool/host_path_map.h"

#include "blueprint/problem.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::pool;

TEST_CASE("P24: P25: the longest prefix that holds a path wins") {
  const HostPathMap map({{"/data", "/srv/data"}, {"/data/db/", "/fast/db"}});
  CHECK(map.resolve("/data/db/x") == "/fast/db/x");
  CHECK(map.resolve("/data/db") == "/fast/db");
  CHECK(map.resolve("/data/dbx") == "/srv/data/dbx");
  CHECK(map.resolve("/data") == "/srv/data");
  CHECK(map.resolve("/data/") == "/srv/data/");
  CHECK_FALSE(map.resolve("/database"));
  CHECK_FALSE(map.resolve("/other"));
  CHECK_FALSE(HostPathMap().resolve("/data"));
}

TEST_CASE("P25: the root may be mapped, and mapped to") {
  CHECK(HostPathMap({{"/", "/host"}}).resolve("/data") == "/host/data");
  CHECK(HostPathMap({{"/host", "/"}}).resolve("/host/data") == "/data");
  CHECK(HostPathMap({{"/host", "/"}}).resolve("/host") == "/");
}

TEST_CASE("P24: what is not absolute is refused") {
  CHECK_THROWS_AS(HostPathMap({{"data", "/srv"}}), blueprint::ConfigError);
  CHECK_THROWS_AS(HostPathMap({{"/data", "srv"}}), blueprint::ConfigError);
}
