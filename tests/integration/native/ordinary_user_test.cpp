// The same promises when an ordinary user runs the host: this program, run again as another user.
#include "tests/support/in_sandbox.h"
#include "tests/support/other_caller.h"
#include "tests/support/temporary_directory.h"

#include <unistd.h>

#include <filesystem>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

void check_as_nobody(const char* filter) {
  if (::geteuid() != 0) return;  // we are an ordinary user, and all other tests are this one
  const native::CgroupMounts mounts = native::own_cgroup_mounts();
  if (mounts.version != native::CgroupMounts::Version::v1) {
    MESSAGE("not tested: version 2 of cgroups is given to users by systemd");
    return;
  }
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  const fs::path program = copy_programs(directory.path());
  const GroupsOfUser groups(mounts, nobody);
  CHECK(run_tests_as(program, filter, [&] { return groups.join() && become_user(nobody); }) == 0);
}

}  // namespace

TEST_CASE("run by an ordinary user, a script is as powerless") {
  check_as_nobody("--source-file=*identity_test*");
}

TEST_CASE("run by an ordinary user, a sandbox's surroundings are the same") {
  check_as_nobody("--source-file=*surroundings_test*");
}

TEST_CASE("run by an ordinary user, later workers are as the first") {
  check_as_nobody("--source-file=*later_workers_test*");
}

TEST_CASE("run by an ordinary user, the seccomp list holds") {
  check_as_nobody("--source-file=*system_calls_test*");
}

TEST_CASE("run by an ordinary user, files are as safe") {
  check_as_nobody("--source-file=*files_test*");
}

TEST_CASE("run by an ordinary user, limits hold") {
  check_as_nobody("--source-file=*attacks_test*");
}

TEST_CASE("run by an ordinary user, failures are told and nothing is left") {
  check_as_nobody("--source-file=*failing_spawn_test*,*leaks_test*");
}

TEST_CASE("run by an ordinary user, confined programs are as powerless") {
  check_as_nobody("--source-file=*confined_programs_test*");
}

TEST_CASE("run by an ordinary user, building packages is as safe") {
  check_as_nobody("--source-file=*source_packages_test*");
}

TEST_CASE("run by an ordinary user, loading is as confined") {
  check_as_nobody("--source-file=*loading_test*,*own_zygote_test*");
}
