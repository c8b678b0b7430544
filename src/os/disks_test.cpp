#include "os/disks.h"

#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

using namespace hearth;

namespace {

void add_disk(const test::TemporaryDirectory& sys, const std::string& name, const std::string& size,
              const std::string& number) {
  std::filesystem::create_directory(sys.path() / name);
  sys.write(name + "/size", size + "\n");
  sys.write(name + "/dev", number + "\n");
}

}  // namespace

TEST_CASE("disks are all that have a size, but for those that are memory") {
  const test::TemporaryDirectory sys;
  add_disk(sys, "sda", "1000", "8:0");
  add_disk(sys, "loop0", "8", "7:0");
  add_disk(sys, "loop1", "0", "7:1");
  add_disk(sys, "dm-0", "16", "253:0");
  add_disk(sys, "ram0", "8192", "1:0");
  add_disk(sys, "zram0", "8192", "252:0");
  add_disk(sys, "cciss!c0d0", "4", "104:0");
  CHECK(os::disks_in(sys.path()) == std::vector<os::Disk>{{"/dev/cciss/c0d0", "104:0"},
                                                          {"/dev/dm-0", "253:0"},
                                                          {"/dev/loop0", "7:0"},
                                                          {"/dev/sda", "8:0"}});
}

TEST_CASE("a disk that is one path to another is left out") {
  const test::TemporaryDirectory sys;
  add_disk(sys, "nvme0n1", "1000", "259:0");
  add_disk(sys, "nvme0c0n1", "1000", "0:0");
  sys.write("nvme0c0n1/hidden", "1\n");
  CHECK(os::disks_in(sys.path()) == std::vector<os::Disk>{{"/dev/nvme0n1", "259:0"}});
}

TEST_CASE("a machine without sysfs has no disks that could be limited") {
  CHECK(os::disks_in("/nowhere").empty());
}

TEST_CASE("lifting a limit does nothing to a directory that has none") {
  const test::TemporaryDirectory group;
  CHECK_NOTHROW(os::lift_disk_reads(group.path()));
  CHECK(std::filesystem::is_empty(group.path()));
}
