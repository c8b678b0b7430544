// The same promises when nobody special runs the host: this program, run again as another user.
#include "native/cgroup.h"
#include "os/read_file.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

// Groups that belong to the user, as an administrator would make them.
class GroupsOfUser {
 public:
  explicit GroupsOfUser(const native::CgroupMounts& mounts) {
    for (const fs::path& base : {mounts.memory, mounts.pids, mounts.cpu}) {
      const fs::path group = base / ("test-user-" + std::to_string(::getpid()));
      REQUIRE(::mkdir(group.c_str(), 0755) == 0);
      groups_.push_back(group);
      for (const fs::path& path : {group, group / "tasks", group / "cgroup.procs"})
        REQUIRE(::chown(path.c_str(), nobody, nobody) == 0);
      joining_.emplace_back(::open((group / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      REQUIRE(joining_.back());
    }
  }
  ~GroupsOfUser() {
    for (const fs::path& group : groups_) CHECK(remove(group));  // and so nothing was left in it
  }
  GroupsOfUser(const GroupsOfUser&) = delete;
  GroupsOfUser& operator=(const GroupsOfUser&) = delete;

  bool join() const {
    for (const os::UniqueFd& file : joining_)
      if (::write(file.get(), "0", 1) != 1) return false;
    return true;
  }

 private:
  // The kernel may count the last process for a moment longer than its parent.
  static bool remove(const fs::path& group) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      if (::rmdir(group.c_str()) == 0) return true;
      ::usleep(1000);
    }
    return false;
  }

  std::vector<fs::path> groups_;
  std::vector<os::UniqueFd> joining_;
};

// Where everybody can read them.
fs::path copy_programs(const fs::path& directory) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  for (const fs::path& name :
       {self.filename(), fs::path("hearth-launcher"), fs::path("hearth-init"),
        fs::path("libhearth-isolate.so"), fs::path("executor_harness.py")}) {
    fs::copy_file(self.parent_path() / name, directory / name);
    fs::permissions(directory / name, fs::perms(0755));
  }
  return directory / self.filename();
}

int run_as_nobody(const fs::path& program, const char* filter, const GroupsOfUser& groups) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::array<const char*, 4> arguments = {program.c_str(), filter, "--no-version", nullptr};
    if (!groups.join() || ::setgroups(0, nullptr) != 0 ||
        ::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0 ||
        ::chdir("/") != 0)
      ::_exit(101);
    ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
    ::_exit(102);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void check_as_nobody(const char* filter) {
  if (::geteuid() != 0) return;  // we are an ordinary user, and all other tests are this one
  const auto mounts =
      native::find_cgroup_mounts(os::read_file("/proc/self/mountinfo", std::size_t{16} << 20),
                                 os::read_file("/proc/self/cgroup", std::size_t{1} << 20));
  if (mounts.version != native::CgroupMounts::Version::v1) {
    MESSAGE("not tested: version 2 of cgroups is given to users by systemd");
    return;
  }
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  const fs::path program = copy_programs(directory.path());
  const GroupsOfUser groups(mounts);
  CHECK(run_as_nobody(program, filter, groups) == 0);
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
