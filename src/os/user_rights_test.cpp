#include "os/user_rights.h"

#include "os/read_file.h"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

using namespace hearth::os;

namespace {

// In a child, since what is given up stays so.
bool holds_in_child(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

}  // namespace

TEST_CASE("the lines of an id map say which ids exist inside") {
  const auto extents =
      parse_id_map("         0       1000          1\n         1     100000      65536\n");
  REQUIRE(extents.size() == 2);
  CHECK(extents[0].first == 0);
  CHECK(extents[0].count == 1);
  CHECK(extents[1].first == 1);
  CHECK(extents[1].count == 65536);
  CHECK(parse_id_map("").empty());
}

TEST_CASE("in the first user namespace the machine's root is user 0") {
  const auto extents = parse_id_map(read_file("/proc/self/uid_map", 4096));
  if (extents.size() != 1 || extents[0].count != 0xffffffff) return;  // another user namespace
  CHECK(host_root_uid() == 0U);
}

TEST_CASE("root has after exec what its bounding set allows, another user what is ambient") {
  if (::geteuid() != 0 || !has(own_capabilities(), CAP_SETUID)) return;
  CHECK(has(capabilities_after_exec(), CAP_SETUID));
  CHECK(holds_in_child([] {
    return ::prctl(PR_CAPBSET_DROP, CAP_SETUID, 0, 0, 0) == 0 &&
           !has(capabilities_after_exec(), CAP_SETUID) && has(own_capabilities(), CAP_SETUID);
  }));
  CHECK(holds_in_child([] {
    return ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && ::setresuid(1000, 1000, 1000) == 0 &&
           !has(capabilities_after_exec(), CAP_SETUID);
  }));
}
