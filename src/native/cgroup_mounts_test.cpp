// Texts as kernels show them, of the kinds of machine there are.
#include "native/cgroup_mounts.h"

#include <doctest/doctest.h>

using namespace hearth::native;
using Version = CgroupMounts::Version;

namespace {

constexpr const char* v1_mounts =
    "24 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
    "30 23 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755\n"
    "34 30 0:30 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup "
    "rw,xattr,name=systemd\n"
    "38 30 0:34 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:15 - cgroup cgroup rw,cpu,cpuacct\n"
    "41 30 0:37 / /sys/fs/cgroup/memory rw,nosuid shared:18 - cgroup cgroup rw,memory\n"
    "44 30 0:40 / /sys/fs/cgroup/pids rw,nosuid shared:21 - cgroup cgroup rw,pids\n";
constexpr const char* v1_groups =
    "12:pids:/user.slice/user-1000.slice/session-3.scope\n"
    "9:memory:/user.slice/user-1000.slice/session-3.scope\n"
    "4:cpu,cpuacct:/user.slice\n"
    "1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n";
constexpr const char* v2_mounts =
    "21 1 0:2 / / rw - rootfs rootfs rw\n"
    "23 21 0:20 / /sys rw,relatime - sysfs sysfs rw\n"
    "28 23 0:25 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("version 1: each controller has its own tree, and a group of ours in it") {
  const CgroupMounts found = find_cgroup_mounts(v1_mounts, v1_groups);
  CHECK(found.version == Version::v1);
  CHECK(found.memory == "/sys/fs/cgroup/memory/user.slice/user-1000.slice/session-3.scope");
  CHECK(found.pids == "/sys/fs/cgroup/pids/user.slice/user-1000.slice/session-3.scope");
  CHECK(found.blkio.empty());  // which not all need
  CHECK(found.cpu == "/sys/fs/cgroup/cpu,cpuacct/user.slice");
  CHECK(found.missing.empty());
}

TEST_CASE("version 1 is used where the tree of version 2 beside it has no controllers") {
  const CgroupMounts found = find_cgroup_mounts(
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
      "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n"
      "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
      "8:pids:/\n4:memory:/api/26a0d901\n2:cpuacct:/\n1:cpu:/\n0::/\n");
  CHECK(found.version == Version::v1);
  CHECK(found.memory == "/sys/fs/cgroup/memory/api/26a0d901");
  CHECK(found.pids == "/sys/fs/cgroup/pids");
  CHECK(found.blkio == "/sys/fs/cgroup/blkio");
  CHECK(found.cpu == "/sys/fs/cgroup/cpu");
  CHECK(found.missing.empty());
}

TEST_CASE("version 2 is used where only other controllers are in trees of version 1") {
  const CgroupMounts found = find_cgroup_mounts(
      "33 24 0:28 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
      "34 24 0:29 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup rw,name=systemd\n"
      "35 24 0:31 / /sys/fs/cgroup/net_cls rw,nosuid shared:12 - cgroup cgroup rw,net_cls\n",
      "3:net_cls:/\n1:name=systemd:/system.slice/hearth.service\n"
      "0::/system.slice/hearth.service\n");
  CHECK(found.version == Version::v2);
  CHECK(found.unified == "/sys/fs/cgroup/unified/system.slice/hearth.service");
}

TEST_CASE("version 2: the first processes of a machine are in the root") {
  const CgroupMounts found = find_cgroup_mounts(v2_mounts, "0::/\n");
  CHECK(found.version == Version::v2);
  CHECK(found.unified == "/sys/fs/cgroup");
  CHECK(found.missing.empty());
}

TEST_CASE("version 2: under systemd a session is some groups deep") {
  const CgroupMounts found = find_cgroup_mounts(
      "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
      "rw,nsdelegate,memory_recursiveprot\n",
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7:1.scope\n");
  CHECK(found.version == Version::v2);
  CHECK(found.unified ==
        "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7:1.scope");
}

TEST_CASE("in a container with a cgroup namespace the mount is our group") {
  const CgroupMounts found = find_cgroup_mounts(
      "1507 1506 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\n",
      "0::/\n");
  CHECK(found.version == Version::v2);
  CHECK(found.unified == "/sys/fs/cgroup");
}

TEST_CASE("in a container without a cgroup namespace only a part of each tree is mounted") {
  const CgroupMounts two = find_cgroup_mounts(
      "733 732 0:30 /system.slice/docker-3f2a.scope /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
      "0::/system.slice/docker-3f2a.scope/inner\n");
  CHECK(two.unified == "/sys/fs/cgroup/inner");
  const CgroupMounts one = find_cgroup_mounts(
      "720 719 0:34 /docker/3f2a /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
      "723 719 0:37 /docker/3f2a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
      "726 719 0:40 /docker/3f2a /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n",
      "12:pids:/docker/3f2a\n9:memory:/docker/3f2a\n4:cpu,cpuacct:/docker/3f2a\n");
  CHECK(one.memory == "/sys/fs/cgroup/memory");
  CHECK(one.cpu == "/sys/fs/cgroup/cpu,cpuacct");
}

TEST_CASE("a group outside of what is mounted is taken to be the mount's root") {
  CHECK(find_cgroup_mounts(v2_mounts, "0::/../session-3.scope\n").unified == "/sys/fs/cgroup");
  CHECK(find_cgroup_mounts("7 6 0:30 /a/b /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/a/c\n")
            .unified == "/sys/fs/cgroup");
  CHECK(find_cgroup_mounts("7 6 0:30 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/\n")
            .unified == "/sys/fs/cgroup");
}

TEST_CASE(
    "names with a backslash or a space are found, which the kernel escapes among the mounts") {
  const CgroupMounts found = find_cgroup_mounts(
      R"(7 6 0:30 /machine.slice/a\134x2db.scope /mnt/c\040groups rw - cgroup2 cgroup rw)"
      "\n",
      "0::/machine.slice/a\\x2db.scope/inner\n");
  CHECK(found.unified == "/mnt/c groups/inner");
}

TEST_CASE("controllers that are nowhere are named") {
  using Names = std::vector<std::string>;
  CHECK(find_cgroup_mounts("24 1 259:1 / / rw - ext4 /dev/root rw\n", "0::/\n").missing ==
        Names{"memory", "pids", "cpu"});
  CHECK(find_cgroup_mounts("41 30 0:37 / /c/memory rw - cgroup cgroup rw,memory\n", "9:memory:/\n")
            .missing == Names{"pids", "cpu"});
  CHECK(find_cgroup_mounts("", "").version == Version::none);
}
