#include "docker/container_spec.h"

#include "base/error.h"
#include "os/disks.h"

#include <doctest/doctest.h>
#include <boost/json.hpp>

namespace hearth::docker {
namespace {

namespace json = boost::json;

constexpr uid_t uid = 0x78000001;

ContainerOrder order() {
  ContainerOrder one;
  one.image = "hearth-sandbox-box:abc";
  one.config.name = "box";
  one.seccomp_profile = "{}";
  one.host_cores = 4;
  return one;
}

json::value inspected(const ContainerOrder& wanted) {
  json::object host = container_body(wanted, uid).at("HostConfig").as_object();
  host["Privileged"] = false;
  host["CapAdd"] = nullptr;
  host["PidMode"] = "";
  return {{"State", {{"Running", true}, {"Paused", false}}},
          {"Config", {{"User", "2013265921:10001"}}},
          {"HostConfig", std::move(host)},
          {"NetworkSettings", {{"Networks", {{"none", json::object()}}}}},
          {"Mounts", json::array{}}};
}

}  // namespace

TEST_CASE("C3: C5: C27: limits are the blueprint's, in the engine's units") {
  blueprint::ResourceLimits limits;
  limits.memory_mb = 100;
  limits.cpu_quota = 1.5;
  limits.pids_limit = 10;
  const json::object body = limits_body(limits, 4);
  CHECK(body.at("Memory") == json::value(100 << 20));
  CHECK(body.at("MemorySwap") == json::value(100 << 20));
  CHECK(body.at("NanoCpus") == json::value(1'500'000'000));
  CHECK(body.at("PidsLimit") == json::value(14));
  // More cores than there are the engine refuses.
  CHECK(limits_body(limits, 1).at("NanoCpus") == json::value(1'000'000'000));
  limits.memory_swap_mb = 0;
  CHECK(limits_body(limits, 4).at("MemorySwap") == json::value(100 << 20));
  limits.memory_swap_mb = 150;
  CHECK(limits_body(limits, 4).at("MemorySwap") == json::value(150 << 20));
}

TEST_CASE("an order has every protection") {
  ContainerOrder wanted = order();
  wanted.config.scratch_size_mb = 3;
  wanted.config.preload = {"json"};
  wanted.mounts = {{"/host/a", "/data/a", true}, {"/host/b", "/data/b", false}};
  wanted.runtime = "crun";
  wanted.labels = {{"k", "v"}};
  const json::object body = container_body(wanted, uid);
  const json::object& host = body.at("HostConfig").as_object();
  CHECK(body.at("User") == json::value("2013265921:10001"));
  CHECK(body.at("Labels") == json::value({{"hearth.uid", "2013265921"}, {"k", "v"}}));
  CHECK(json::serialize(body.at("Entrypoint")) ==
        R"(["/hearth/hearth-init","--confined","caps,no-new-privs,seccomp,user,read-only",)"
        R"("--passwd","/hearth/passwd,/hearth/user","--packages","/hearth/packages","--",)"
        R"("python3","-s","-B","/hearth/executor_harness","--path","/hearth/packages",)"
        R"("--preload","json","--writable","/data/b"])");
  CHECK(host.at("ReadonlyRootfs") == json::value(true));
  CHECK(json::serialize(host.at("CapDrop")) == R"(["ALL"])");
  CHECK(json::serialize(host.at("SecurityOpt")) == R"(["no-new-privileges:true","seccomp={}"])");
  CHECK(host.at("NetworkMode") == json::value("none"));
  CHECK(host.at("Runtime") == json::value("crun"));
  CHECK(host.at("Tmpfs").at("/workspace") ==
        json::value("rw,exec,nosuid,nodev,size=3145728,nr_inodes=768,mode=0700,uid="
                    "2013265921,gid=10001"));
  CHECK(host.at("Mounts").as_array().size() == 2);
  CHECK(host.at("Mounts").at(0).at("ReadOnly") == json::value(true));
  CHECK(host.at("Mounts").at(1).at("ReadOnly") == json::value(false));
  CHECK(host.at("Mounts").at(0).at("BindOptions").at("NonRecursive") == json::value(true));
  CHECK_FALSE(host.at("Mounts").at(1).at("BindOptions").as_object().contains("NonRecursive"));
  CHECK_FALSE(container_body(order(), uid).at("HostConfig").as_object().contains("Runtime"));
  // Everything in it can be read through the engine's API: no secret may be there.
  for (const json::value& variable : body.at("Env").as_array())
    CHECK(variable.as_string().find("SECRET") == json::string::npos);
}

TEST_CASE("settings of newer kernels are a container's only where the kernel has them") {
  CHECK(has_new_network_settings("6.18.44-fc"));
  CHECK(has_new_network_settings("7.0"));
  for (const char* older : {"6.17.1", "5.19.0-generic", "6", "", "unknown"})
    CHECK_FALSE(has_new_network_settings(older));

  ContainerOrder wanted = order();
  const auto settings = [&] {
    return container_body(wanted, uid).at("HostConfig").at("Sysctls").as_object();
  };
  CHECK_FALSE(settings().contains("net.core.tstamp_allow_data"));
  wanted.has_new_network_settings = true;
  CHECK(settings().at("net.core.tstamp_allow_data") == json::value("0"));
  CHECK(settings().at("net.ipv4.tcp_rto_max_ms") == json::value("1000"));
}

TEST_CASE("disk reads are limited on each disk if the blueprint says so") {
  ContainerOrder wanted = order();
  CHECK_FALSE(
      container_body(wanted, uid).at("HostConfig").as_object().contains("BlkioDeviceReadBps"));
  wanted.config.resource_limits.disk_read_mb_per_sec = 3;
  wanted.disks = {"/dev/sda", "/dev/loop0"};
  CHECK(json::serialize(container_body(wanted, uid).at("HostConfig").at("BlkioDeviceReadBps")) ==
        R"([{"Path":"/dev/sda","Rate":3145728},{"Path":"/dev/loop0","Rate":3145728}])");
  json::value found = inspected(wanted);
  CHECK(differences_of(found, wanted, uid).empty());
  found.at("HostConfig").at("BlkioDeviceReadBps").as_array().pop_back();
  CHECK(differences_of(found, wanted, uid) ==
        std::vector<std::string>{"its disk reads are not limited as wanted"});
  found.at("HostConfig").as_object()["BlkioDeviceReadBps"] = nullptr;
  CHECK(differences_of(found, wanted, uid).size() == 1);
}

TEST_CASE("a limit of disk reads is refused if the engine may be on another machine") {
  const EngineAddress far{.host = "127.0.0.1", .port = 2375};
  blueprint::ResourceLimits limits;
  CHECK(disks_to_limit(limits, far).empty());
  limits.disk_read_mb_per_sec = 1;
  CHECK(disks_to_limit(limits, {.socket = "/run/docker.sock"}).size() == os::disks().size());
  CHECK_THROWS_WITH_AS(
      disks_to_limit(limits, far),
      doctest::Contains("resource_limits.disk_read_mb_per_sec cannot be kept here: the engine at "
                        "tcp://127.0.0.1:2375"),
      Error);
}

TEST_CASE("what gVisor does not tell is not asked for") {
  CHECK(confinement_under("runsc") == "caps,user");
  CHECK(confinement_under("") == "caps,no-new-privs,seccomp,user,read-only");
}

TEST_CASE("C27: an engine that cannot limit swap serves blueprints that name no total") {
  ContainerOrder wanted = order();
  json::value found = inspected(wanted);
  found.at("HostConfig").as_object()["MemorySwap"] = -1;
  const std::vector<std::string> refused{"its swap is not limited as wanted"};
  CHECK(differences_of(found, wanted, uid) == refused);
  wanted.limits_swap = false;
  CHECK(differences_of(found, wanted, uid).empty());
  wanted.config.resource_limits.memory_swap_mb = 0;
  CHECK(differences_of(found, wanted, uid) == refused);
}

TEST_CASE("a container that is not what was ordered is found out") {
  const ContainerOrder wanted = order();
  CHECK(differences_of(inspected(wanted), wanted, uid).empty());
  const auto changed = [&](const std::function<void(json::value&)>& change) {
    json::value found = inspected(wanted);
    change(found);
    const std::vector<std::string> differences = differences_of(found, wanted, uid);
    return differences.size() == 1 ? differences.front() : std::to_string(differences.size());
  };
  const auto host = [&](const char* key, const json::value& value) {
    return changed([&](json::value& found) { found.at("HostConfig").as_object()[key] = value; });
  };
  CHECK(host("ReadonlyRootfs", false) == "its root can be written to");
  CHECK(host("CapDrop", nullptr) == "it keeps capabilities");
  CHECK(host("CapAdd", json::array{"SYS_ADMIN"}) == "it was given capabilities");
  CHECK(host("Privileged", true) == "it is privileged");
  CHECK(host("SecurityOpt", json::array{"seccomp={}"}) == "programs may gain privileges");
  CHECK(host("SecurityOpt", json::array{"no-new-privileges:true"}) ==
        "its system calls are not filtered as wanted");
  CHECK(host("PidMode", "host") == "it sees other processes");
  CHECK(host("IpcMode", "shareable") == "it shares its messages and memory");
  CHECK(host("MemorySwap", 1) == "its swap is not limited as wanted");
  CHECK(changed([](json::value& found) {
          found.as_object()["Mounts"] = json::array{{{"Type", "volume"}, {"Destination", "/v"}}};
        }) == "it has other mounts than were ordered");
  CHECK(host("Memory", 0) == "its memory is not limited as wanted");
  CHECK(host("PidsLimit", nullptr) == "its processes are not limited as wanted");
  CHECK(host("NanoCpus", 0) == "its CPU is not limited as wanted");
  CHECK(changed([](json::value& found) {
          found.at("Config").as_object()["User"] = "10001:10001";
        }) == "it runs as another user");
  CHECK(changed([](json::value& found) { found.at("State").as_object()["Paused"] = true; }) ==
        "it does not run");
  CHECK(changed([](json::value& found) {
          found.at("NetworkSettings").at("Networks").as_object()["bridge"] = json::object();
        }) == "it has a network");
  CHECK(differences_of(nullptr, wanted, uid).size() > 5);
}

}  // namespace hearth::docker
