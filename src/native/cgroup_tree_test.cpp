// Instances of Hearth beside each other, in whatever trees this machine has.
#include "native/cgroup_tree.h"
#include "base/error.h"
#include "os/disks.h"
#include "os/read_file.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/uncached_file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace hearth;
using namespace hearth::native;
namespace fs = std::filesystem;

namespace {

bool start_and_end(int times) {
  try {
    for (int i = 0; i < times; ++i) const CgroupTree tree(own_cgroup_mounts());
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
}

// Groups of this test's own beside each other, in the tree that tells instances apart. In a group
// of their own: a process that starts in a group looks at what is beside it, as other tests do.
class TwoGroups {
 public:
  TwoGroups() : around_(place_of(mounts_) / ("test-" + std::to_string(::getpid()))) {
    fs::create_directory(around_);
    // In version 2 they have the controllers that the group around them was given, if it was.
    if (const fs::path file = around_ / "cgroup.subtree_control"; fs::exists(file))
      std::ofstream(file) << "+memory +pids +cpu";
    for (const char* name : {"one", "two"}) fs::create_directory(around_ / name);
  }
  ~TwoGroups() {
    for (const fs::path& group : {around_ / "one", around_ / "two", around_})
      ::rmdir(group.c_str());
  }
  TwoGroups(const TwoGroups&) = delete;
  TwoGroups& operator=(const TwoGroups&) = delete;

  CgroupMounts first() const { return within(around_ / "one"); }
  CgroupMounts second() const { return within(around_ / "two"); }

 private:
  static fs::path& place_of(CgroupMounts& mounts) {
    return mounts.version == CgroupMounts::Version::v2 ? mounts.unified : mounts.memory;
  }
  CgroupMounts within(const fs::path& group) const {
    CgroupMounts mounts = mounts_;
    place_of(mounts) = group;
    return mounts;
  }

  CgroupMounts mounts_ = own_cgroup_mounts();
  fs::path around_;
};

// The groups of an instance that ended as if by SIGKILL. It tells them itself: instances of other
// tests come and go in the same trees.
std::vector<fs::path> groups_of_a_dead_instance(const CgroupMounts& mounts) {
  const test::TemporaryDirectory directory;
  const fs::path list = directory.path() / "groups";
  const pid_t instance = ::fork();
  if (instance == 0) {
    auto* const tree = new CgroupTree(mounts);  // NOLINT: never destroyed
    // In every tree, if that can be.
    CgroupLimits limits = cgroup_limits({});
    if (tree->disk_limit_problem().empty()) limits.disk_read_bytes_per_sec = 1 << 20;
    Cgroup* const group = tree->take(limits).release();  // nor given back
    std::ofstream file(list);
    for (const fs::path& path : group->directories()) file << path.parent_path().string() << "\n";
    ::_exit(file.flush() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(instance, &status, 0) == instance);
  REQUIRE(status == 0);
  std::vector<fs::path> groups;
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) groups.emplace_back(line);
  return groups;
}

// In whichever tree it is.
std::string value_of(const Cgroup& group, const char* file) {
  for (const fs::path& directory : group.directories())
    if (fs::exists(directory / file)) return os::read_file(directory / file, 100);
  return {};
}

// Processes that end as soon as each has forked its successor; returns when there are some.
pid_t start_forking_in(const Cgroup& group) {
  const std::vector<os::UniqueFd> files = group.open_for_joining();
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t first = ::fork();
  if (first == 0) {
    for (const os::UniqueFd& file : files)
      if (::write(file.get(), "0", 1) != 1) ::_exit(1);
    for (int line = 0; line < 16 && ::fork() > 0; ++line) {
    }
    if (::write(ends[1], "x", 1) != 1) ::_exit(1);
    while (true)
      if (::fork() > 0) ::_exit(0);
  }
  ::close(ends[1]);
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  ::close(ends[0]);
  return first;
}

}  // namespace

TEST_CASE("a group leaves the processors to others unless it is ready or late") {
  CgroupTree tree(own_cgroup_mounts());
  const auto group = tree.take(cgroup_limits({}));
  const fs::path file = group->directories().back() / "cpu.idle";
  const auto yields = [&] { return os::read_file(file, 16) == "1\n"; };
  CHECK(yields());
  group->enter(Cgroup::Phase::preparing);
  CHECK(yields());
  group->enter(Cgroup::Phase::ready);
  CHECK_FALSE(yields());
  group->enter(Cgroup::Phase::ending);
  CHECK(yields());
  group->hurry();
  CHECK_FALSE(yields());
  group->enter(Cgroup::Phase::isolating);
  CHECK(yields());
  group->hurry();
  group->enter(Cgroup::Phase::preparing);
  CHECK_FALSE(yields());
  group->enter(Cgroup::Phase::ready);
  group->enter(Cgroup::Phase::ending);
  CHECK(yields());
}

TEST_CASE("what an instance in a group beside ours left is removed from every tree") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  const TwoGroups groups;
  const std::vector<fs::path> left = groups_of_a_dead_instance(groups.first());
  REQUIRE_FALSE(left.empty());

  const CgroupTree next(groups.second());
  // Another test's instance, which starts at the same time, may have been the first to find one,
  // and be about to remove it.
  for (const fs::path& path : left) {
    for (int i = 0; fs::exists(path) && i < 5000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK_MESSAGE(!fs::exists(path), path.string());
  }
}

TEST_CASE("no other user can open an instance's groups, and so hold their locks") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  const TwoGroups groups;
  CgroupTree tree(groups.first());
  const auto group = tree.take(cgroup_limits({}));
  for (const fs::path& path : group->directories())
    CHECK((fs::status(path.parent_path()).permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("instances that start at the same time do not fail for each other's sake") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  std::vector<pid_t> instances;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(start_and_end(100) ? 0 : 1);
    instances.push_back(pid);
  }
  for (const pid_t pid : instances) {
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
}

TEST_CASE("a group that was given back is given out again, with the limits of its new owner") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  CgroupTree tree(own_cgroup_mounts());
  CgroupLimits limits = cgroup_limits({});
  CgroupTree::Lease first = tree.take(limits);
  const fs::path directory = first->directories().front();
  const auto memory_limit = [&] {
    const char* file =
        fs::exists(directory / "memory.max") ? "memory.max" : "memory.limit_in_bytes";
    return os::read_file(directory / file, 100);
  };
  first.reset();
  CHECK(tree.take(limits)->directories().front() != directory);  // it has to rest first
  std::this_thread::sleep_for(std::chrono::milliseconds(150));

  limits.memory_bytes = 64 << 20;
  const CgroupTree::Lease second = tree.take(limits);
  REQUIRE(second->directories().front() == directory);
  CHECK(memory_limit() == std::to_string(64 << 20) + "\n");
  limits.memory_bytes = 128 << 20;
  second->set_limits(limits);
  CHECK(memory_limit() == std::to_string(128 << 20) + "\n");
}

TEST_CASE("a group whose disk reads are limited is not given out with that limit to others") {
  CgroupTree tree(own_cgroup_mounts());
  if (!tree.disk_limit_problem().empty()) {
    MESSAGE("not tested: ", tree.disk_limit_problem());
    return;
  }
  CgroupLimits limited = cgroup_limits({});
  limited.disk_read_bytes_per_sec = 1 << 20;
  const bool is_v2 = own_cgroup_mounts().version == CgroupMounts::Version::v2;
  const char* const file = is_v2 ? os::disk_limit_file_v2 : os::disk_limit_file_v1;
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(150)); };
  CgroupTree::Lease first = tree.take(limited);
  const fs::path directory = first->directories().front();
  CHECK(first->directories().size() == (is_v2 ? 1 : 4));
  CHECK(first->controllers().size() == first->directories().size());
  CHECK(value_of(*first, file).empty() == os::disks().empty());
  first.reset();
  rest();

  CgroupTree::Lease unlimited = tree.take(cgroup_limits({}));
  CHECK(value_of(*unlimited, file) == "");
  CHECK(unlimited->directories().size() == (is_v2 ? 1 : 3));
  unlimited.reset();
  rest();

  const CgroupTree::Lease again = tree.take(limited);
  CHECK(again->directories().front() == directory);
  CHECK(value_of(*again, file).empty() == os::disks().empty());
}

TEST_CASE("without a tree that can limit disk reads, a group with such a limit is refused") {
  CgroupMounts mounts = own_cgroup_mounts();
  if (mounts.version == CgroupMounts::Version::v2) {
    MESSAGE("not tested: version 2 has one tree for all");
    return;
  }
  mounts.blkio.clear();
  CgroupTree tree(mounts);
  CgroupLimits limits = cgroup_limits({});
  CHECK(tree.take(limits)->directories().size() == 3);
  limits.disk_read_bytes_per_sec = 1;
  CHECK_THROWS_WITH_AS(tree.take(limits), "the cgroup controller blkio is not mounted", Error);
}

TEST_CASE("a group that still holds a process is not given out again") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  CgroupTree tree(own_cgroup_mounts());
  CgroupTree::Lease first = tree.take(cgroup_limits({}));
  const fs::path directory = first->directories().front();
  const pid_t living = ::fork();
  if (living == 0) {
    ::pause();
    ::_exit(0);
  }
  std::ofstream(directory / "cgroup.procs") << living << std::flush;
  first.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const CgroupTree::Lease second = tree.take(cgroup_limits({}));
  CHECK(second->directories().front() != directory);
  // Nor is it removed, which would mean to wait: it is free when the process has exited.
  CHECK(fs::exists(directory));
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  bool is_given_out = false;
  for (int i = 0; i < 5000 && !is_given_out; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    is_given_out = tree.take(cgroup_limits({}))->directories().front() == directory;
  }
  CHECK(is_given_out);
}

TEST_CASE("a group that still counts an exited process is not given out again") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  CgroupTree tree(own_cgroup_mounts());
  CgroupTree::Lease first = tree.take(cgroup_limits({}));
  const fs::path directory = first->directories().front();
  const std::vector<os::UniqueFd> files = first->open_for_joining();
  const pid_t exited = ::fork();
  if (exited == 0) {
    for (const os::UniqueFd& file : files)
      if (::write(file.get(), "0", 1) != 1) ::_exit(1);
    ::_exit(0);
  }
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(exited), &info, WEXITED | WNOWAIT) == 0);
  REQUIRE(info.si_status == 0);
  first.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  CHECK(tree.take(cgroup_limits({}))->directories().front() != directory);

  ::waitpid(exited, nullptr, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  std::vector<fs::path> given_out;
  std::vector<CgroupTree::Lease> leases;
  for (int i = 0; i < 2; ++i) {
    leases.push_back(tree.take(cgroup_limits({})));
    given_out.push_back(leases.back()->directories().front());
  }
  CHECK(std::find(given_out.begin(), given_out.end(), directory) != given_out.end());
}

TEST_CASE("loading has what its sandboxes have, but no less than imports of packages need") {
  blueprint::ResourceLimits small;
  small.memory_mb = 64;
  small.pids_limit = 8;
  small.cpu_quota = 0.1;
  CHECK(loading_limits(small) == CgroupLimits{512U << 20, 0, 512, 1.0});
  blueprint::ResourceLimits large;
  large.memory_mb = 1024;
  large.memory_swap_mb = 4096;
  large.pids_limit = 1000;
  large.cpu_quota = 2.5;
  CHECK(loading_limits(large) == CgroupLimits{1024U << 20, 0, 1000, 2.5});
  CHECK(serving_limits(small) == CgroupLimits{1024U << 20, 0, 512, 0});
}

TEST_CASE("a group's quota of CPU time can be lifted") {
  CgroupTree tree(own_cgroup_mounts());
  CgroupLimits limits = cgroup_limits({});
  const CgroupTree::Lease group = tree.take(limits);
  limits.cpu_cores = 0;
  group->set_limits(limits);
  CHECK(value_of(*group, group->directories().size() == 1 ? "cpu.max" : "cpu.cfs_quota_us") ==
        (group->directories().size() == 1 ? "max 100000\n" : "-1\n"));
}

TEST_CASE("every process of a group is killed, even while its processes fork without pause") {
  CgroupTree tree(own_cgroup_mounts());
  CgroupLimits limits = cgroup_limits({});
  limits.cpu_cores = 0.1;
  const CgroupTree::Lease group = tree.take(limits);
  const pid_t first = start_forking_in(*group);
  const auto processes = [&] {
    return os::read_file(group->directories().front() / "cgroup.procs", 1 << 16);
  };
  for (int i = 0; i < 5000 && !processes().empty(); ++i) {
    group->kill_processes();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(processes() == "");
  ::waitpid(first, nullptr, 0);

  CHECK(value_of(*group, "pids.max") == "0\n");
  group->set_limits(limits);
  CHECK(value_of(*group, "pids.max") == std::to_string(limits.pids) + "\n");
  CHECK(value_of(*group, group->directories().size() == 1 ? "cpu.max" : "cpu.cfs_quota_us")
            .starts_with("10000"));
}

TEST_CASE("a group is removed without page cache that the kernel would keep it for") {
  const test::UncachedFile file(8 << 20);
  if (!file.is_uncached()) {
    MESSAGE("not tested: needs a file system with a page cache that can be dropped");
    return;
  }
  {
    CgroupTree tree(own_cgroup_mounts());
    const CgroupTree::Lease group = tree.take(cgroup_limits({}));
    const std::vector<os::UniqueFd> files = group->open_for_joining();
    const pid_t reader = ::fork();
    if (reader == 0) {
      for (const os::UniqueFd& joining : files)
        if (::write(joining.get(), "0", 1) != 1) ::_exit(1);
      ::_exit(os::read_file(file.path(), file.size()).size() == file.size() ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(reader, &status, 0) == reader);
    REQUIRE(status == 0);
    REQUIRE(file.cached_pages() > 0);
  }
  CHECK(file.cached_pages() == 0);
}

TEST_CASE("a stranger's group that is only called like ours is left alone, and our own too") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  const TwoGroups groups;
  const CgroupMounts ours = groups.first();
  const fs::path place = ours.version == CgroupMounts::Version::v2 ? ours.unified : ours.memory;
  const fs::path stranger = place / "hearth-api.service";
  fs::create_directory(stranger);
  CgroupMounts inside = ours;
  (ours.version == CgroupMounts::Version::v2 ? inside.unified : inside.memory) =
      place / "hearth-0123456789ab";
  fs::create_directory(place / "hearth-0123456789ab");
  // From within a group that looks like an instance's: it is above whatever we make.
  {
    const CgroupTree tree(inside);
  }
  CHECK(fs::exists(place / "hearth-0123456789ab"));
  CHECK(fs::exists(stranger));
  ::rmdir((place / "hearth-0123456789ab").c_str());
  {
    const CgroupTree tree(ours);
  }
  CHECK(fs::exists(stranger));
  ::rmdir(stranger.c_str());
}

TEST_CASE("the memory we may use is the least that any group above us may") {
  if (::geteuid() != 0) {
    MESSAGE("not tested: needs root");
    return;
  }
  const TwoGroups groups;
  CgroupMounts ours = groups.first();
  const bool is_v2 = ours.version == CgroupMounts::Version::v2;
  fs::path& place = is_v2 ? ours.unified : ours.memory;
  const fs::path limit_file = place / (is_v2 ? "memory.max" : "memory.limit_in_bytes");
  if (!fs::exists(limit_file)) {
    MESSAGE("not tested: no memory controller for groups made here");
    return;
  }
  std::ofstream(limit_file) << (300 << 20);
  CHECK(own_memory_limit_bytes(ours) == 300 << 20);
  place /= "below";
  fs::create_directory(place);
  CHECK(own_memory_limit_bytes(ours) == 300 << 20);
  ::rmdir(place.c_str());
}
