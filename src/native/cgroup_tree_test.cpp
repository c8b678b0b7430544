// Instances of Hearth beside each other, in whatever trees this machine has.
#include "base/error.h"
#include "native/cgroup.h"
#include "os/read_file.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

using namespace hearth;
using namespace hearth::native;

namespace {

CgroupMounts own_mounts() {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;
  return find_cgroup_mounts(os::read_file("/proc/self/mountinfo", max_bytes),
                            os::read_file("/proc/self/cgroup", max_bytes));
}

bool start_and_end(int times) {
  try {
    for (int i = 0; i < times; ++i) const CgroupTree tree(own_mounts());
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
}

}  // namespace

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
