// Sandboxes are made by what the host may do, not by its user id: this program, run again as root
// that lacks a right, and as root of user namespaces.
#include "base/error.h"
#include "os/read_file.h"
#include "os/run_program.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/other_caller.h"
#include "tests/support/temporary_directory.h"

#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

// Of no user of this machine, and no range that Hearth takes.
constexpr uid_t unused_user = 0x6f000000;

fs::path own_program() { return fs::read_symlink("/proc/self/exe"); }

void check_without_sys_admin(const char* filter) {
  if (!native_host()->users.claim) return;  // an ordinary user lacks it anyway
  CHECK(run_tests_as(own_program(), filter, [] { return give_up_capability(CAP_SYS_ADMIN); }) == 0);
}

void check_as_root_of_namespace(unsigned users, const char* filter) {
  if (!native_host()->users.claim) return;  // only root can make it
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  const fs::path program = copy_programs(directory.path());
  CHECK(run_tests_as(program, filter, [&] {
          return ::setenv("HEARTH_TEST_ALLOW_DEGRADED", "1", 1) == 0 &&
                 become_root_of_namespace(unused_user, users);
        }) == 0);
}

// What a host says that lacks these capabilities; empty if it makes sandboxes.
std::string refusal_without(std::initializer_list<int> capabilities) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const os::UniqueFd words(ends[0]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string text;
    for (const int capability : capabilities)
      if (!give_up_capability(capability)) ::_exit(1);
    try {
      native::open_native_machine({.allow_degraded = true});
    } catch (const native::CannotSandbox& error) {
      text = error.what();
    }
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return os::read_rest(words.get(), "a pipe", 4096);
}

os::ProgramResult run_launcher(std::vector<std::string> arguments) {
  for (const char* word : {"--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
                           "usr/lib64", "/lib64", "--", "/usr/bin/true"})
    arguments.emplace_back(word);
  return os::run_program({.program = own_program().parent_path() / "hearth-launcher",
                          .arguments = std::move(arguments)});
}

}  // namespace

TEST_CASE("made by root without CAP_SYS_ADMIN, a script is as powerless") {
  check_without_sys_admin("--source-file=*identity_test*");
}

TEST_CASE("made by root without CAP_SYS_ADMIN, a sandbox's surroundings are the same") {
  check_without_sys_admin("--source-file=*surroundings_test*");
}

TEST_CASE("made by root without CAP_SYS_ADMIN, later workers are as the first") {
  check_without_sys_admin("--source-file=*later_workers_test*");
}

TEST_CASE("made by root without CAP_SYS_ADMIN, files are as safe") {
  check_without_sys_admin("--source-file=*files_test*");
}

TEST_CASE("made by root without CAP_SYS_ADMIN, failures are told and nothing is left") {
  check_without_sys_admin("--source-file=*failing_spawn_test*,*leaks_test*");
}

TEST_CASE("made by root of a user namespace with many users, each sandbox has one of them") {
  check_as_root_of_namespace(1 << 16, "--source-file=*identity_test*");
}

TEST_CASE("made by root of a user namespace with no other user, a script is as powerless") {
  check_as_root_of_namespace(1, "--source-file=*identity_test*");
}

TEST_CASE("root that cannot give sandboxes another user makes none, whatever is accepted") {
  if (!native_host()->users.claim) return;  // an ordinary user makes them of itself
  for (const auto missing : {CAP_SETUID, CAP_SETGID}) {
    const std::string refusal = refusal_without({missing, CAP_SYS_ADMIN});
    CAPTURE(refusal);
    CHECK(refusal.find("they would be the machine's root") != std::string::npos);
    CHECK(refusal.find("--cap-add SETUID --cap-add SETGID") != std::string::npos);
    CHECK(refusal.find("allow_degraded") == std::string::npos);
  }
}

TEST_CASE("the launcher gives the machine's root to no namespace") {
  if (!native_host()->users.claim) return;  // only root could
  for (const std::vector<std::string>& users :
       {std::vector<std::string>{}, {"--uids", "0", "10"}, {"--uids", "0", "1"}}) {
    const os::ProgramResult refused = run_launcher(users);
    CAPTURE(refused.errors);
    CHECK(refused.exit_code == 125);
    CHECK(refused.errors.find("the machine's root is never a user of sandboxes") !=
          std::string::npos);
  }
  CHECK(run_launcher({"--uids", "100000", "10"}).exit_code == 0);
}
