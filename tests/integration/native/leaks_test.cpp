// What is left of sandboxes that are gone: nothing.
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

std::size_t entries_of(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

std::string own(const char* file) {
  return os::read_file(std::string("/proc/self/") + file, std::size_t{16} << 20);
}

// Where the groups of this and all other sandboxes of this process are, in every tree.
std::vector<fs::path> groups_around(const backend::Sandbox& sandbox) {
  std::vector<fs::path> groups;
  for (const fs::path& group :
       dynamic_cast<const native::NativeSandbox&>(sandbox).cgroup()->directories())
    groups.push_back(group.parent_path());
  return groups;
}

// Groups are kept for other sandboxes, but no process of a sandbox is in them; only the zygote and
// its launcher have a group of their own.
bool no_sandbox_in(const std::vector<fs::path>& groups, pid_t zygote) {
  for (const fs::path& group : groups)
    for (const auto& entry : fs::directory_iterator(group)) {
      if (!entry.is_directory()) continue;
      std::ifstream processes(entry.path() / "cgroup.procs");
      for (pid_t pid = 0; processes >> pid;)
        if (pid != zygote && pid != parent_of(zygote)) return false;
    }
  return true;
}

// A zygote is gone a moment after its launcher.
bool gets_empty(const std::vector<fs::path>& groups) {
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    if (no_sandbox_in(groups, 0)) return true;
    ::usleep(1000);
  }
  return false;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  while (pid > 1 && pid != ancestor) pid = parent_of(pid);
  return pid == ancestor;
}

std::size_t descendants() {
  std::size_t count = 0;
  for (const pid_t pid : all_processes())
    if (pid != ::getpid() && descends_from(pid, ::getpid())) ++count;
  return count;
}

// Networks are kept for other sandboxes, as many as have lived at the same time; how many that were
// depends on how long the machine takes to end them.
std::size_t kept_networks() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry, gone).string().starts_with("net:[")) ++count;
  }
  return count;
}

// Without those of containers, which other tests make at the same time.
std::size_t own_mounts() {
  std::istringstream lines(own("mountinfo"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find("/docker/") == std::string::npos) ++count;
  return count;
}

struct Counts {
  std::size_t descriptors = entries_of("/proc/self/fd") - kept_networks();
  std::size_t mounts = own_mounts();
  std::size_t processes = descendants();
  bool operator==(const Counts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << counts.descriptors << " descriptors, " << counts.mounts << " mounts, "
             << counts.processes << " processes";
}

// What was killed is gone a moment later; a leak stays.
Counts counts_once(const Counts& expected) {
  for (int attempt = 0; attempt < 10'000 && Counts() != expected; ++attempt) ::usleep(1000);
  return {};
}

// Burying goes on in the background; a leak never comes to its end.
template <typename Condition>
void run_until(NativeSandboxes& sandboxes, const Condition& is_reached) {
  for (int step = 0; step < 20'000 && !is_reached(); ++step)
    sandboxes.loop().run_one_for(std::chrono::milliseconds(1));
}

const std::string leave_processes = R"py(
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(1000)
        os._exit(0)
)py";

}  // namespace

TEST_CASE("after 200 sandboxes no process, group, mount or descriptor is left") {
  native_host();
  const Counts before_all;
  std::vector<fs::path> groups;
  {
    NativeSandboxes sandboxes;
    pid_t zygote = 0;
    {
      const auto first = sandboxes.spawn();
      zygote = zygote_of(*first);
      groups = groups_around(*first);
      CHECK_FALSE(no_sandbox_in(groups, zygote));
      printed(sandboxes, *first, "pass");
    }
    const auto only_zygote_is_left = [] { return descendants() == 2; };  // and its launcher
    run_until(sandboxes, only_zygote_is_left);
    REQUIRE(only_zygote_is_left());
    sandboxes.loop().poll();  // the sandbox's end is known; what was kept for it is let go
    const std::string zygote_files = "/proc/" + std::to_string(zygote) + "/fd";
    const std::string zygote_mounts = "/proc/" + std::to_string(zygote) + "/mountinfo";
    const std::size_t zygotes_descriptors = entries_of(zygote_files);
    const std::string mounts_of_zygote = os::read_file(zygote_mounts, std::size_t{1} << 20);
    const Counts before;
    constexpr std::size_t rounds = 200;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto sandbox = sandboxes.spawn();
      if (round % 10 == 0) sandboxes.run_in(*sandbox, "print(1)");
      if (round % 10 == 5) {
        sandboxes.run_in(*sandbox, leave_processes);
        sandbox->kill();
      }
    }
    run_until(sandboxes, [&] { return no_sandbox_in(groups, zygote) && Counts() == before; });
    CHECK(no_sandbox_in(groups, zygote));
    CHECK(kept_networks() < rounds / 4);
    const Counts after;
    CHECK(after.descriptors == before.descriptors);
    CHECK(after.mounts == before.mounts);
    CHECK(after.processes == before.processes);
    CHECK(entries_of(zygote_files) == zygotes_descriptors);
    CHECK(os::read_file(zygote_mounts, std::size_t{1} << 20) == mounts_of_zygote);
  }
  CHECK(kept_networks() == 0);
  CHECK(counts_once(before_all) == before_all);
}

TEST_CASE("what is alive when its source is closed ends and leaves nothing") {
  native_host();
  const Counts before;
  std::vector<fs::path> groups;
  std::vector<std::unique_ptr<backend::Sandbox>> alive;
  {
    NativeSandboxes sandboxes;
    for (int i = 0; i < 5; ++i) alive.push_back(sandboxes.spawn());
    groups = groups_around(*alive[0]);
    for (const auto& sandbox : alive) printed(sandboxes, *sandbox, leave_processes);
    alive.clear();
  }
  CHECK(gets_empty(groups));
  CHECK(counts_once(before) == before);
}

TEST_CASE("spawns that fail leave nothing") {
  native_host();
  const Counts before;
  {
    blueprint::SandboxConfig config;
    config.resource_limits.pids_limit = -2;
    NativeSandboxes sandboxes(config);
    for (int round = 0; round < 10; ++round)
      CHECK_THROWS_AS(sandboxes.spawn(), backend::SpawnError);
  }
  CHECK(counts_once(before) == before);
}
