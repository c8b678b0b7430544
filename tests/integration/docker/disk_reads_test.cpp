// A blueprint can limit what its containers read from the disks of the engine's machine.
#include "async/within.h"
#include "docker/docker_sandbox.h"
#include "docker/docker_source.h"
#include "os/disks.h"
#include "os/read_file.h"
#include "tests/support/any_backend.h"
#include "tests/support/uncached_file.h"

#include <doctest/doctest.h>

#include <chrono>
#include <sstream>

using namespace hearth;
using namespace hearth::test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;

blueprint::SandboxConfig with_limit(std::int64_t mb_per_sec) {
  blueprint::SandboxConfig config = docker_config();
  config.resource_limits.disk_read_mb_per_sec = mb_per_sec;
  return config;
}

std::string container_id(const backend::Sandbox& sandbox) {
  return dynamic_cast<const docker::DockerSandbox&>(sandbox).container_id();
}

boost::json::value inspect(const std::string& id) {
  return call_engine({.path = "/containers/" + id + "/json", .accepted = {404}}).body;
}

// What the kernel says of the cgroup that a container's first process is in.
std::string limits_of(const backend::Sandbox& sandbox) {
  const auto pid = inspect(container_id(sandbox)).at("State").at("Pid").to_number<pid_t>();
  std::istringstream groups(os::read_file("/proc/" + std::to_string(pid) + "/cgroup", most_bytes));
  for (std::string line; std::getline(groups, line);) {
    const std::string group = line.substr(line.find('/'));
    const fs::path v1 = "/sys/fs/cgroup/blkio" + group + "/" + os::disk_limit_file_v1;
    const fs::path v2 = "/sys/fs/cgroup" + group + "/" + os::disk_limit_file_v2;
    if (line.find(":blkio:") != std::string::npos && fs::exists(v1))
      return os::read_file(v1, most_bytes);
    if (line.starts_with("0::") && fs::exists(v2)) return os::read_file(v2, most_bytes);
  }
  return {};
}

}  // namespace

TEST_CASE("a container's limit of disk reads holds for each disk there is") {
  DockerBackend backend(with_limit(3));
  const auto sandbox = backend.spawn();
  const std::string limits = limits_of(*sandbox);
  for (const os::Disk& disk : os::disks()) {
    CAPTURE(disk.device);
    CAPTURE(limits);
    CHECK(limits.find(disk.number + ' ') != std::string::npos);
    CHECK(limits.find("3145728") != std::string::npos);
  }
  CHECK(backend.run_in(*sandbox, "print('runs')").stdout_text == "runs\n");
}

TEST_CASE("a container that waits for a limited disk ends with its time limit") {
  constexpr int megabytes = 60;  // and as many seconds, in which no signal reaches the process
  const UncachedFile file(megabytes << 20, fs::read_symlink("/proc/self/exe").parent_path());
  blueprint::SandboxConfig config = with_limit(1);
  config.resources = {{file.path().parent_path(), "/data", true, {}}};
  std::string id;
  DockerBackend backend(config);
  {
    const auto sandbox = backend.spawn();
    id = container_id(*sandbox);
    const auto result = backend.run_in(*sandbox, R"py(
import mmap, os
buffer = mmap.mmap(-1, 1 << 20)
os.preadv(os.open("/data/data", os.O_RDONLY | os.O_DIRECT), [buffer] * 60, 0)
)py",
                                       1);
    CHECK(execution::name_of(result.verdict) == "timeout");
    CHECK_FALSE(result.sandbox_usable);
    // Less than the time after which it is no longer waited for.
    CHECK_NOTHROW(run_task(backend.loop(), within(std::chrono::seconds(9), sandbox->exited())));
  }
  const boost::json::value left = inspect(id);
  CHECK((!left.as_object().contains("State") || !left.at("State").at("Running").as_bool()));
}
