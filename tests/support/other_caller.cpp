#include "tests/support/other_caller.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

// The kernel may count the last process for a moment longer than its parent.
bool remove_group(const fs::path& group) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (::rmdir(group.c_str()) == 0) return true;
    ::usleep(1000);
  }
  return false;
}

bool write_to(const std::string& path, const std::string& text) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

GroupsOfUser::GroupsOfUser(const native::CgroupMounts& mounts, uid_t user) {
  for (const fs::path& base : {mounts.memory, mounts.pids, mounts.cpu}) {
    const fs::path group =
        base / ("test-user-" + std::to_string(user) + "-" + std::to_string(::getpid()));
    REQUIRE(::mkdir(group.c_str(), 0755) == 0);
    groups_.push_back(group);
    for (const fs::path& path : {group, group / "tasks", group / "cgroup.procs"})
      REQUIRE(::chown(path.c_str(), user, user) == 0);
    joining_.emplace_back(::open((group / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(joining_.back());
  }
}

GroupsOfUser::~GroupsOfUser() {
  for (const fs::path& group : groups_) CHECK(remove_group(group));
}

bool GroupsOfUser::join() const {
  for (const os::UniqueFd& file : joining_)
    if (::write(file.get(), "0", 1) != 1) return false;
  return true;
}

fs::path copy_programs(const fs::path& directory) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  for (const fs::path& name :
       {self.filename(), fs::path("hearth-launcher"), fs::path("hearth-init"),
        fs::path("libhearth-isolate.so"), fs::path("executor_harness")}) {
    fs::copy(self.parent_path() / name, directory / name, fs::copy_options::recursive);
    fs::permissions(directory / name, fs::perms(0755));
  }
  return directory / self.filename();
}

int run_tests_as(const fs::path& program, const std::string& filter,
                 const std::function<bool()>& become) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::array<const char*, 4> arguments = {program.c_str(), filter.c_str(), "--no-version",
                                                  nullptr};
    if (!become() || ::chdir("/") != 0) ::_exit(101);
    ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
    ::_exit(102);
  }
  return wait_for(child);
}

bool become_user(uid_t user) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
         ::setresuid(user, user, user) == 0;
}

bool give_up_capability(int capability) {
  return ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;
}

bool become_root_of_namespace(uid_t first, unsigned count) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const std::string process = "/proc/" + std::to_string(::getpid());
  const std::string map = "0 " + std::to_string(first) + " " + std::to_string(count);
  // The maps are written from outside, with the rights that this process has there.
  const pid_t writer = ::fork();
  if (writer == 0) {
    char byte = 0;
    const bool written = ::read(ends[0], &byte, 1) == 1 && write_to(process + "/uid_map", map) &&
                         write_to(process + "/gid_map", map);
    ::_exit(written ? 0 : 1);
  }
  return writer > 0 && ::unshare(CLONE_NEWUSER) == 0 && ::write(ends[1], "x", 1) == 1 &&
         wait_for(writer) == 0 && become_user(0);
}

}  // namespace hearth::test
